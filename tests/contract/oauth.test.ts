import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { startCrm } from '@footbridge/testkit/crm';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { startService } from '@footbridge/testkit/service';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { startBridge } from '../bridge.ts';
import { TestBridge, LOCATION, PHONE } from './test-bridge.ts';
import { crmEnv } from '@footbridge/testkit/crm-env';
import type { TestBridgeOptions } from './test-bridge.ts';
import { dumpFiles } from './dump-files.ts';

let running: TestBridge | undefined;
const cleanup = createCleanup();
afterEach(async () => {
  await cleanup.run();
  await running?.stop();
});

async function start(options?: TestBridgeOptions): Promise<TestBridge> {
  running = await TestBridge.start({ oauth: 'unauthorised', ...options });
  return running;
}

const PATH = '/oauth/callback/crm';
const OTHER_LOCATION = 'locBBBBBBBBBBBBBBBB2';
const form = (fields: Record<string, string>) => ({
  method: 'POST',
  body: new URLSearchParams(fields),
});
const json = (body: unknown) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});
const call = async (bridge: TestBridge, path = PATH, init?: RequestInit) => {
  const answer = await fetch(bridge.bridge.url + path, init);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, body: () => JSON.parse(text) as object };
};

describe('the callback', () => {
  it('O1 accepts the code in the query or the body, by GET and POST, as JSON and as a form', async () => {
    const bridge = await start();
    const code = () => bridge.crm.install({ locationId: LOCATION, companyId: 'comp1' });
    for (const [path, init] of [
      [`${PATH}?code=${code()}`, undefined],
      [`${PATH}?code=${code()}`, { method: 'POST' }],
      [PATH, form({ code: code() })],
      [PATH, json({ code: code() })],
      [`${PATH}?code=${code()}`, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: 'x' }],
    ] as const) {
      const { status, body } = await call(bridge, path, init);
      expect(status).toBe(200);
      expect(body()).toEqual({ status: 'success', locationId: LOCATION, companyId: 'comp1' });
    }
    const grants = await bridge.operator('GET', '/operator/grants');
    expect(grants.body['grants']).toMatchObject([{ kind: 'location', ownerId: LOCATION, state: 'active' }]);
  });

  it.each([
    ['empty JSON', 'application/json', ''],
    ['malformed JSON', 'application/json', '{'],
    ['JSON with a forbidden name', 'application/json', '{"__proto__":{}}'],
    ['a large body', 'application/json', JSON.stringify('x'.repeat(70_000))],
    ['a malformed Content-Type', 'foo', 'x'],
  ])('O1 accepts the code in the query beside %s', async (_what, type, body) => {
    const bridge = await start();
    const code = bridge.crm.install({ locationId: LOCATION });
    const post = { method: 'POST', headers: { 'Content-Type': type }, body };
    expect(await call(bridge, `${PATH}?code=${code}`, post)).toMatchObject({ status: 200 });
    const without = await call(bridge, PATH, post);
    expect(without.status).toBe(400);
    expect(without.body()).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(without.headers.get('cache-control')).toBe('no-store');
    const headers = { ...post.headers, Accept: 'text/html' };
    const again = bridge.crm.install({ locationId: LOCATION });
    const page = await call(bridge, `${PATH}?code=${again}`, { ...post, headers });
    expect([page.status, page.text]).toEqual([200, expect.stringContaining(LOCATION)]);
  });

  it('L5 counts callbacks whose body cannot be read', async () => {
    const bridge = await start({ env: { RATE_LIMIT_OAUTH_CALLBACK: '2' } });
    const post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{' };
    const statuses: number[] = [];
    for (let time = 0; time < 3; time++) statuses.push((await call(bridge, PATH, post)).status);
    expect(statuses).toEqual([400, 400, 429]);
  });

  it('O1 returns a page to a browser, for success and for failure', async () => {
    const bridge = await start();
    const headers = { Accept: 'text/html,application/xhtml+xml' };
    const good = await call(bridge, `${PATH}?code=${bridge.crm.install({ locationId: LOCATION })}`, {
      headers,
    });
    expect(good.status).toBe(200);
    expect(good.headers.get('content-type')).toContain('text/html');
    expect(good.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(good.text).toContain(LOCATION);
    for (const [path, init, code] of [
      [`${PATH}?code=<script>alert(1)</script>`, {}, 'OAUTH_EXCHANGE_FAILED'],
      [PATH, {}, 'INVALID_REQUEST'],
      [PATH, { ...form({ code: 'x'.repeat(100_000) }) }, 'INVALID_REQUEST'],
      [
        PATH,
        { method: 'POST', body: '{', headers: { 'Content-Type': 'application/json' } },
        'INVALID_REQUEST',
      ],
    ] as const) {
      const bad = await call(bridge, path, {
        ...init,
        headers: { ...('headers' in init && init.headers), ...headers },
      });
      expect(bad.status).toBe(400);
      expect(bad.headers.get('content-type')).toContain('text/html');
      expect(bad.text).toContain(code);
      expect(bad.text).not.toContain('alert');
    }
  });

  it.each([
    undefined,
    '*/*',
    'application/json',
    'application/json, text/html;q=0.5',
    'text/html, application/JSON;q=0.1',
    'text/html, application/problem+json',
  ])('O1 responds with JSON to a client that accepts %j', async (accept) => {
    const bridge = await start();
    const headers = accept === undefined ? {} : { headers: { Accept: accept } };
    const good = await call(bridge, `${PATH}?code=${bridge.crm.install({ locationId: LOCATION })}`, headers);
    expect(good.body()).toMatchObject({ status: 'success', locationId: LOCATION });
    const bad = await call(bridge, PATH, headers);
    expect(bad.headers.get('content-type')).toContain('application/json');
    expect(bad.body()).toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('O1 does not use up the code for a HEAD request', async () => {
    const bridge = await start();
    const code = bridge.crm.install({ locationId: LOCATION });
    await call(bridge, `${PATH}?code=${code}`, { method: 'HEAD' });
    expect(bridge.crm.callsTo('token')).toEqual([]);
  });

  it.each(['false', 'TRUE', '1', ''])('O2 responds 503 with CRM_OAUTH_ENABLED=%j', async (value) => {
    const bridge = await start({ env: { CRM_OAUTH_ENABLED: value } });
    const { status, body } = await call(bridge, `${PATH}?code=x`);
    expect(status).toBe(503);
    expect(body()).toMatchObject({ code: 'OAUTH_DISABLED' });
    const malformed = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{' };
    expect((await call(bridge, PATH, malformed)).status).toBe(503);
    expect(bridge.crm.calls).toEqual([]);
  });

  it.each([
    ['CRM_OAUTH_CLIENT_ID', ''],
    ['CRM_OAUTH_CLIENT_SECRET', ''],
    ['CRM_OAUTH_TOKEN_URL', ''],
    ['CRM_OAUTH_ENCRYPTION_KEY', ''],
    ['CRM_OAUTH_REFRESH_THRESHOLD_SEC', ''],
    ['CRM_OAUTH_REFRESH_THRESHOLD_SEC', 'soon'],
    ['CRM_OAUTH_DATABASE_URL', ''],
  ])('O3 responds 500 and names %s when it is %j', async (name, value) => {
    const bridge = await start({
      env: { DATABASE_URL: '', CRM_OAUTH_DATABASE_URL: 'sqlite::memory:', [name]: value },
    });
    const { status, body } = await call(bridge, `${PATH}?code=x`);
    expect(status).toBe(500);
    expect(body()).toMatchObject({ code: 'OAUTH_NOT_CONFIGURED', missing: [name] });
    expect(bridge.crm.calls).toEqual([]);
  });

  it('O3 lists each location once when the tokens are in a database of their own', async () => {
    const bridge = await start({ env: { CRM_OAUTH_DATABASE_URL: 'sqlite::memory:' } });
    for (const locationId of [LOCATION, 'loc-granted']) {
      const code = bridge.crm.install({ locationId, companyId: 'comp1' });
      expect((await call(bridge, `${PATH}?code=${code}`)).status).toBe(200);
    }
    await bridge.mac();
    const { body } = await bridge.operator('GET', '/operator/locations');
    expect(body['locations']).toMatchObject([
      { locationId: 'loc-granted', state: 'unassigned', connected: null, oauth: { state: 'active' } },
      {
        locationId: LOCATION,
        state: 'bound',
        connected: { node: expect.any(String) },
        oauth: { state: 'active' },
      },
    ]);
  });

  it.each([
    ['no code', PATH, undefined],
    ['an empty code', `${PATH}?code=`, undefined],
    ['two codes', `${PATH}?code=a&code=b`, undefined],
    ['a code under another name', `${PATH}?authorization_code=a`, undefined],
    ['a body without a code', PATH, json({ kode: 'x' })],
    ['a code that is a number', PATH, json({ code: 5 })],
    ['an array', PATH, json(['x'])],
    ['malformed JSON', PATH, { ...json({}), body: '{' }],
    ['an oversized body', PATH, form({ code: 'x'.repeat(100_000) })],
  ])('O4 responds 400 INVALID_REQUEST to %s', async (_name, path, init) => {
    const bridge = await start();
    const { status, body } = await call(bridge, path, init);
    expect(status).toBe(400);
    expect(body()).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(bridge.crm.calls).toEqual([]);
  });

  it.each([400, 401, 403, 408, 422])(
    'O5 responds 400 when the CRM rejects the code with %i',
    async (crmStatus) => {
      const bridge = await start();
      bridge.crm.injectFault({ match: 'token', how: { status: crmStatus } });
      const { status, body } = await call(bridge, `${PATH}?code=x`);
      expect(status).toBe(400);
      expect(body()).toMatchObject({ code: 'OAUTH_EXCHANGE_FAILED' });
    },
  );

  it.each([{ status: 429 }, { status: 500 }, { status: 302 }, 'reset', { status: 200, body: {} }] as const)(
    'O5 responds 500 when the CRM returns %j',
    async (how) => {
      const bridge = await start();
      bridge.crm.injectFault({ match: 'token', how });
      const { status, body } = await call(bridge, `${PATH}?code=x`);
      expect(status).toBe(500);
      expect(body()).toMatchObject({ code: 'OAUTH_EXCHANGE_FAILED', requestId: expect.any(String) });
    },
  );

  it('O5 responds 400 to an unknown or used code, and neither shows nor logs the code', async () => {
    const bridge = await start();
    const code = bridge.crm.install({ locationId: LOCATION });
    await call(bridge, `${PATH}?code=${code}`);
    for (const one of [code, 'canary-code-4711']) {
      const { status, text } = await call(bridge, `${PATH}?code=${one}`);
      expect(status).toBe(400);
      expect(text).not.toContain(one);
      expect(bridge.log).not.toContain(one);
    }
  });

  it('L5 allows 20 requests a minute per address, then responds 429 with JSON', async () => {
    const bridge = await start();
    const answers = [];
    for (let index = 0; index < 21; index++) answers.push(await call(bridge, PATH));
    expect(answers.slice(0, 20).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 400));
    const last = answers[20];
    expect(last?.status).toBe(429);
    expect(last?.body()).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('L2 reports the limit of the address in every response, as HTML and as JSON', async () => {
    const bridge = await start();
    const shown = async (accept: string) => {
      const { status, headers } = await call(bridge, PATH, { headers: { Accept: accept } });
      return [status, ...['limit', 'remaining'].map((name) => headers.get(`ratelimit-${name}`))];
    };
    expect(await shown('application/json')).toEqual([400, '20', '19']);
    expect(await shown('text/html')).toEqual([400, '20', '18']);
  });
});

describe('tokens', () => {
  it('O6 are readable neither in the database nor in the log nor for the operator', async () => {
    const bridge = await start();
    await bridge.authorise(LOCATION);
    const mac = await bridge.mac();
    await bridge.webhook({ messageId: 'm1' });
    await mac.nextFrame('send');
    await until(() => bridge.crm.accepted('m1').length === 1);
    const token = bridge.crm.callsTo('status')[0]?.headers['authorization']?.slice(7) ?? '';
    const [, payload = 'x', signature = 'x'] = token.split('.');
    const { body } = await bridge.operator('GET', '/operator/grants');
    const seen = `${await dumpFiles(bridge.dataDir)}\n${bridge.log}\n${JSON.stringify(body)}`;
    for (const secret of [payload, signature, bridge.crm.settings.clientSecret])
      expect(seen).not.toContain(secret);
  });

  it('O6 survive a rotation of the key', async () => {
    const [older, newer] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')];
    const bridge = await start({ env: { CRM_OAUTH_ENCRYPTION_KEY: older } });
    await bridge.authorise(LOCATION);
    const deliver = async (messageId: string) => {
      const mac = await bridge.mac();
      await bridge.webhook({ messageId });
      await mac.nextFrame('send');
      await until(() => bridge.crm.accepted(messageId).length === 1);
    };
    await bridge.restart({ CRM_OAUTH_ENCRYPTION_KEY: `${newer},${older}` });
    await deliver('m1');
    bridge.crm.expireTokens(LOCATION);
    await deliver('m2');
    await bridge.restart({ CRM_OAUTH_ENCRYPTION_KEY: newer });
    await deliver('m3');
    expect(bridge.crm.callsTo('token')).toHaveLength(2);
  });

  it('O7 are refreshed before they expire, and used only after they are stored', async () => {
    const bridge = await start({ settings: { expiresInSec: 600 } });
    await bridge.authorise(LOCATION);
    const mac = await bridge.mac();
    for (const messageId of ['m1', 'm2']) {
      await bridge.clock.skip(301_000);
      await bridge.webhook({ messageId });
      await mac.nextFrame('send');
      await until(() => bridge.crm.accepted(messageId).length === 1);
    }
    const refreshes = bridge.crm.callsTo('token').slice(1);
    expect(refreshes).toHaveLength(2);
    expect(refreshes.map(({ body }) => (body as { grant_type: string }).grant_type)).toEqual([
      'refresh_token',
      'refresh_token',
    ]);
    expect(bridge.crm.callsTo('status').map(({ status }) => status)).toEqual([200, 200]);
  });

  it('O7 of a company survive a stop while they are being refreshed', async () => {
    const crm = await startCrm({ settings: { expiresInSec: 2 } });
    cleanup.add(() => crm.stop());
    const service = await startService({ env: { ...crmEnv(crm), CRM_OAUTH_REFRESH_THRESHOLD_SEC: '1' } });
    cleanup.add(() => service.stop());
    crm.bridgeUrl = service.url;
    const code = crm.install({ companyId: 'comp1', locations: [LOCATION] });
    expect((await fetch(`${service.url}${PATH}?code=${code}`)).status).toBe(200);
    await sleep(1000);
    crm.settings.expiresInSec = 86_399;
    crm.addLocation('comp1', OTHER_LOCATION);
    crm.injectFault({ match: 'token', how: { answerDelayMs: 1500 } });
    await crm.sendAppEvent({ type: 'INSTALL', locationId: OTHER_LOCATION, companyId: 'comp1' });
    await until(() => crm.callsTo('token').length === 2);
    await service.restart();
    const states = async () => {
      const { body } = await service.operator('GET', '/operator/grants');
      const grants = body['grants'] as { ownerId: string; state: string }[];
      return new Map(grants.map(({ ownerId, state }) => [ownerId, state]));
    };
    await until(async () => (await states()).get(OTHER_LOCATION) !== 'expected');
    expect(await states()).toEqual(
      new Map([
        ['comp1', 'active'],
        [LOCATION, 'active'],
        [OTHER_LOCATION, 'active'],
      ]),
    );
  });

  it('O8 of a revoked grant are not used until a new authorisation, and the operator sees why', async () => {
    const bridge = await start();
    await bridge.authorise(LOCATION);
    const mac = await bridge.mac();
    bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
    bridge.crm.revoke(LOCATION);
    const seq = mac.received({ sender: PHONE, text: 'Hi' });
    const state = async () => {
      const { body } = await bridge.operator('GET', '/operator/grants');
      return (body['grants'] as { state: string; lastError: string | null }[])[0];
    };
    await until(async () => (await state())?.state === 'reauth_required');
    expect((await state())?.lastError).toContain('Invalid grant');
    const before = bridge.crm.calls.length;
    await bridge.clock.skip(60_000);
    await bridge.operator('GET', '/operator/grants');
    expect(bridge.crm.calls).toHaveLength(before);
    expect(mac.frames.filter(({ type }) => type === 'ack')).toEqual([]);
    await bridge.authorise(LOCATION);
    await bridge.clock.skip(60_000);
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect((await state())?.state).toBe('active');
  });

  it('O6 that no key decrypts are shown as unreadable, with the cause and the remedy, until the former key is back', async () => {
    const [former, present] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
    const bridge = await start({ env: { CRM_OAUTH_ENCRYPTION_KEY: former } });
    await bridge.authorise(LOCATION);
    bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
    const [remedy, cause] = [
      expect.stringMatching(/Add the former key/),
      expect.stringMatching(/is not in CRM_OAUTH_ENCRYPTION_KEY/),
    ];
    const issues = async () => {
      await bridge.clock.skip(60_000);
      const { body } = await bridge.operator('GET', '/operator/issues');
      return (body['issues'] as { kind: string }[]).filter(({ kind }) => kind === 'tokens_unreadable');
    };

    await bridge.restart({ CRM_OAUTH_ENCRYPTION_KEY: present });
    const issue = { locationIds: [LOCATION], sentence: cause, action: remedy };
    expect(await until(async () => ((await issues()).length > 0 ? issues() : undefined))).toMatchObject([
      issue,
    ]);
    const { body: listed } = await bridge.operator('GET', '/operator/grants');
    const problem = { sentence: cause, action: remedy };
    expect(listed['grants']).toMatchObject([{ state: 'unreadable', problem }]);
    const { body: locations } = await bridge.operator('GET', '/operator/locations');
    expect(locations['locations']).toMatchObject([{ locationId: LOCATION, oauth: { state: 'unreadable' } }]);
    const { body: tenants } = await bridge.operator('GET', '/operator/tenants');
    expect(tenants['tenants']).toMatchObject([{ problem: { link: 'grant', ...problem } }]);

    await bridge.restart({ CRM_OAUTH_ENCRYPTION_KEY: `${present},${former}` });
    const mac = await bridge.mac();
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }))).toMatchObject({
      outcome: 'delivered',
    });
    await until(async () => (await issues()).length === 0);
    const { body: again } = await bridge.operator('GET', '/operator/grants');
    expect(again['grants']).toMatchObject([{ state: 'active', lastError: null, problem: null }]);
  });

  it('O8 of a paused location stay stored', async () => {
    const bridge = await start();
    await bridge.authorise(LOCATION);
    const mac = await bridge.mac();
    bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
    bridge.crm.setActive(LOCATION, false);
    bridge.crm.expireTokens(LOCATION);
    const seq = mac.received({ sender: PHONE, text: 'Hi' });
    await until(async () => {
      const { body } = await bridge.operator('GET', '/operator/grants');
      return JSON.stringify(body).includes('Location is not active');
    });
    const { body } = await bridge.operator('GET', '/operator/grants');
    expect(body['grants']).toMatchObject([{ state: 'active' }]);
    bridge.crm.setActive(LOCATION, true);
    await bridge.clock.skip(60_000);
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
  });

  it('O9 of all locations are stored for an agency install', async () => {
    const bridge = await start();
    const locations = [LOCATION, OTHER_LOCATION, 'locCCCCCCCCCCCCCCCC3'];
    const code = bridge.crm.install({ companyId: 'comp1', locations });
    const { status, body } = await call(bridge, `${PATH}?code=${code}`);
    expect(status).toBe(200);
    expect(body()).toMatchObject({ status: 'success', companyId: 'comp1', failed: [], later: 0 });
    expect(new Set((body() as { locations: string[] }).locations)).toEqual(new Set(locations));
    const mac = await bridge.mac('locCCCCCCCCCCCCCCCC3');
    await bridge.webhook({ locationId: 'locCCCCCCCCCCCCCCCC3', messageId: 'm1' });
    await mac.nextFrame('send');
    await until(() => bridge.crm.accepted('m1').length === 1);
  });

  it('O10 that the operator sets serve their location and are stored encrypted', async () => {
    const bridge = await start({ env: { CRM_OAUTH_ENABLED: 'false' } });
    const pit = bridge.crm.pit(LOCATION);
    bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
    const mac = await bridge.mac();
    const seq = mac.received({ sender: PHONE, text: 'Hi' });
    const path = `/operator/locations/${LOCATION}/private-token`;
    expect((await bridge.operator('PUT', path, { token: 'Bearer x' })).status).toBe(400);
    expect(mac.frames.filter(({ type }) => type === 'ack')).toEqual([]);
    expect((await bridge.operator('PUT', path, { token: pit })).status).toBe(204);
    await bridge.clock.skip(60_000);
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    const { body } = await bridge.operator('GET', '/operator/grants');
    expect(body['privateTokens']).toMatchObject([{ locationId: LOCATION }]);
    expect(`${JSON.stringify(body)}${await dumpFiles(bridge.dataDir)}${bridge.log}`).not.toContain(pit);
    expect((await bridge.operator('DELETE', path)).status).toBe(204);
    expect((await bridge.operator('DELETE', path)).status).toBe(404);
  });

  it('O10 without a location serve while licenses own one location, which is logged, until the operator deletes a mistaken one', async () => {
    const bridge = await start({ env: { CRM_OAUTH_ENABLED: 'false', LOCATION_CLAIM: 'operator' } });
    const other = 'locBBBBBBBBBBBBBBBB2';
    bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
    await bridge.restart({ CRM_PIT_TOKEN: bridge.crm.pit(LOCATION) });
    const { id: licenseId, key } = await bridge.createLicense();
    const assign = (id: string) => bridge.operator('PUT', `/operator/locations/${id}`, { licenseId });
    await assign(LOCATION);
    // A mistyped location, which no license owns.
    const mistyped = await bridge.connect({ token: await bridge.token('mac-mistyped', key) });
    await expect(mistyped.register(`${LOCATION}x`)).rejects.toThrow();
    const mac = await bridge.mac();
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(bridge.log).toContain('CRM_PIT_TOKEN serves this location');
    await assign(other);
    const second = await bridge.mac(other, 'mac-of-another');
    second.received({ sender: PHONE, text: 'Hi' });
    await until(async () => {
      await bridge.clock.skip(1000);
      return bridge.log.includes('licenses own several');
    });
    expect(bridge.crm.messages).toHaveLength(1);
    expect(bridge.crm.calls.every(({ locationId }) => locationId === LOCATION)).toBe(true);

    const seq = mac.received({ sender: PHONE, text: 'Are you there?' });
    const { body: shown } = await bridge.operator('GET', '/operator/tenants');
    expect(shown['tenants']).toContainEqual(
      expect.objectContaining({
        locationId: LOCATION,
        problem: expect.objectContaining({ action: expect.stringContaining('footbridge location delete') }),
      }),
    );
    await until(async () => {
      await bridge.clock.skip(20_000);
      const { body } = await bridge.operator('GET', '/operator/issues');
      return JSON.stringify(body).includes('token_ambiguous');
    });
    const deleted = await bridge.operator('DELETE', `/operator/locations/${other}?confirmed=true`);
    expect(deleted.status).toBe(204);
    await bridge.clock.skip(60_000);
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
  });
});

describe.skipIf(!(await hasPostgres()))('a token database on PostgreSQL', () => {
  it('logs why a connection was lost', async () => {
    const server = await startPostgres();
    cleanup.add(() => server.stop());
    const database = await server.createDatabase();
    const crm = await startCrm();
    cleanup.add(() => crm.stop());
    const bridge = await startBridge({
      ...crmEnv(crm),
      CRM_OAUTH_REFRESH_THRESHOLD_SEC: '300',
      CRM_OAUTH_DATABASE_URL: database,
    });
    cleanup.add(() => bridge.stop());
    const line = await until(
      async () => {
        // Only an idle connection is lost by itself: one in use fails its query.
        const headers = { Authorization: `Bearer ${bridge.operatorToken}` };
        await fetch(`${bridge.operatorUrl}/operator/grants`, { headers });
        await server.execute(
          database,
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
        );
        return bridge.logs.find((one) => one.includes('token.database_connection_lost'));
      },
      { every: 200 },
    );
    expect(line).toContain('terminating connection');
  });
});

describe.skipIf(!(await hasPostgres()))('over two processes', () => {
  it('O7 fifty callers at expiry cause one refresh', async () => {
    const server = await startPostgres();
    cleanup.add(() => server.stop());
    const clock = new SkippingClock();
    const crm = await startCrm({
      settings: { rateLimit: null, expiresInSec: 600 },
      now: () => clock.now(),
    });
    cleanup.add(() => crm.stop());
    const env = {
      ...crmEnv(crm),
      CRM_OAUTH_REFRESH_THRESHOLD_SEC: '300',
      DATABASE_URL: await server.createDatabase(),
    };
    const bridges = [await startBridge(env, { clock }), await startBridge(env, { clock })];
    for (const bridge of bridges) cleanup.add(() => bridge.stop());
    const code = crm.install({ locationId: LOCATION });
    expect((await fetch(`${bridges[0]?.url ?? ''}${PATH}?code=${code}`)).status).toBe(200);
    await clock.skip(301_000);
    crm.settings.expiresInSec = 86_399;
    crm.injectFault({ match: 'token', how: { delayMs: 200 } });
    // No Mac is bound, so each of these makes one status call.
    const sent = Array.from({ length: 50 }, (_, index) =>
      crm.sendWebhook(
        { locationId: LOCATION, phone: PHONE, message: 'Hi', messageId: `m${index}` },
        { url: bridges[index % 2]?.url ?? '' },
      ),
    );
    expect(new Set((await Promise.all(sent)).map(({ status }) => status))).toEqual(new Set([404]));
    await until(() => crm.statuses.filter(({ accepted }) => accepted).length === 50);
    expect(crm.callsTo('token')).toHaveLength(2);
  });
});
