import { randomBytes } from 'node:crypto';

import { startCrm } from '@footbridge/testkit/crm';
import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { startBridge } from '../bridge.ts';
import { TestBridge, LOCATION, PHONE } from './test-bridge.ts';
import { crmEnv } from '@footbridge/testkit/crm-env';
import type { TestBridgeOptions } from './test-bridge.ts';
import { dumpFiles } from './dump-files.ts';

let world: TestBridge | undefined;
const cleanup = createCleanup();
afterEach(async () => {
  await cleanup.run();
  await world?.stop();
});

async function start(options?: TestBridgeOptions): Promise<TestBridge> {
  world = await TestBridge.start({ oauth: 'unauthorised', ...options });
  return world;
}

const PATH = '/oauth/callback/crm';
const form = (fields: Record<string, string>) => ({
  method: 'POST',
  body: new URLSearchParams(fields),
});
const json = (body: unknown) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});
const call = async (here: TestBridge, path = PATH, init?: RequestInit) => {
  const answer = await fetch(here.bridge.url + path, init);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, body: () => JSON.parse(text) as object };
};

describe('the callback', () => {
  it('O1 takes the code from the query or the body, by GET and POST, JSON and form', async () => {
    const here = await start();
    const code = () => here.crm.install({ locationId: LOCATION, companyId: 'comp1' });
    for (const [path, init] of [
      [`${PATH}?code=${code()}`, undefined],
      [`${PATH}?code=${code()}`, { method: 'POST' }],
      [PATH, form({ code: code() })],
      [PATH, json({ code: code() })],
      [`${PATH}?code=${code()}`, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: 'x' }],
    ] as const) {
      const { status, body } = await call(here, path, init);
      expect(status).toBe(200);
      expect(body()).toEqual({ status: 'success', locationId: LOCATION, companyId: 'comp1' });
    }
    const grants = await here.operator('GET', '/operator/grants');
    expect(grants.body['grants']).toMatchObject([{ kind: 'location', ownerId: LOCATION, state: 'active' }]);
  });

  it('O1 shows a page to a browser, in success and in failure', async () => {
    const here = await start();
    const headers = { Accept: 'text/html,application/xhtml+xml' };
    const good = await call(here, `${PATH}?code=${here.crm.install({ locationId: LOCATION })}`, { headers });
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
      const bad = await call(here, path, {
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
  ])('O1 answers in JSON to a client that accepts %j', async (accept) => {
    const here = await start();
    const headers = accept === undefined ? {} : { headers: { Accept: accept } };
    const good = await call(here, `${PATH}?code=${here.crm.install({ locationId: LOCATION })}`, headers);
    expect(good.body()).toMatchObject({ status: 'success', locationId: LOCATION });
    const bad = await call(here, PATH, headers);
    expect(bad.headers.get('content-type')).toContain('application/json');
    expect(bad.body()).toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('O1 a HEAD request does not use the code up', async () => {
    const here = await start();
    const code = here.crm.install({ locationId: LOCATION });
    await call(here, `${PATH}?code=${code}`, { method: 'HEAD' });
    expect(here.crm.callsTo('token')).toEqual([]);
  });

  it.each(['false', 'TRUE', '1', ''])('O2 CRM_OAUTH_ENABLED=%j: 503', async (value) => {
    const here = await start({ env: { CRM_OAUTH_ENABLED: value } });
    const { status, body } = await call(here, `${PATH}?code=x`);
    expect(status).toBe(503);
    expect(body()).toMatchObject({ code: 'OAUTH_DISABLED' });
    expect(here.crm.calls).toEqual([]);
  });

  it.each([
    ['CRM_OAUTH_CLIENT_ID', ''],
    ['CRM_OAUTH_CLIENT_SECRET', ''],
    ['CRM_OAUTH_TOKEN_URL', ''],
    ['CRM_OAUTH_ENCRYPTION_KEY', ''],
    ['CRM_OAUTH_REFRESH_THRESHOLD_SEC', ''],
    ['CRM_OAUTH_REFRESH_THRESHOLD_SEC', 'soon'],
    ['CRM_OAUTH_DATABASE_URL', ''],
  ])('O3 without %s (%j): 500 and its name', async (name, value) => {
    const here = await start({
      env: { DATABASE_URL: '', CRM_OAUTH_DATABASE_URL: 'sqlite::memory:', [name]: value },
    });
    const { status, body } = await call(here, `${PATH}?code=x`);
    expect(status).toBe(500);
    expect(body()).toMatchObject({ code: 'OAUTH_NOT_CONFIGURED', missing: [name] });
    expect(here.crm.calls).toEqual([]);
  });

  it.each([
    ['no code', PATH, undefined],
    ['an empty one', `${PATH}?code=`, undefined],
    ['two of them', `${PATH}?code=a&code=b`, undefined],
    ['another name', `${PATH}?authorization_code=a`, undefined],
    ['a body without one', PATH, json({ kode: 'x' })],
    ['a number', PATH, json({ code: 5 })],
    ['an array', PATH, json(['x'])],
    ['broken JSON', PATH, { ...json({}), body: '{' }],
    ['a megabyte', PATH, form({ code: 'x'.repeat(100_000) })],
  ])('O4 %s: 400 INVALID_REQUEST', async (_name, path, init) => {
    const here = await start();
    const { status, body } = await call(here, path, init);
    expect(status).toBe(400);
    expect(body()).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(here.crm.calls).toEqual([]);
  });

  it.each([400, 401, 403, 408, 422])('O5 the CRM rejects the code with %i: 400', async (refusal) => {
    const here = await start();
    here.crm.injectFault({ match: 'token', how: { status: refusal } });
    const { status, body } = await call(here, `${PATH}?code=x`);
    expect(status).toBe(400);
    expect(body()).toMatchObject({ code: 'OAUTH_EXCHANGE_FAILED' });
  });

  it.each([{ status: 429 }, { status: 500 }, { status: 302 }, 'reset', { status: 200, body: {} }] as const)(
    'O5 the CRM answers %j: 500',
    async (how) => {
      const here = await start();
      here.crm.injectFault({ match: 'token', how });
      const { status, body } = await call(here, `${PATH}?code=x`);
      expect(status).toBe(500);
      expect(body()).toMatchObject({ code: 'OAUTH_EXCHANGE_FAILED', requestId: expect.any(String) });
    },
  );

  it('O5 an unknown or used code: 400, and the code is nowhere to be seen', async () => {
    const here = await start();
    const code = here.crm.install({ locationId: LOCATION });
    await call(here, `${PATH}?code=${code}`);
    for (const one of [code, 'canary-code-4711']) {
      const { status, text } = await call(here, `${PATH}?code=${one}`);
      expect(status).toBe(400);
      expect(text).not.toContain(one);
      expect(here.log).not.toContain(one);
    }
  });

  it('L5 20 a minute and address, then 429 in JSON', async () => {
    const here = await start();
    const answers = [];
    for (let index = 0; index < 21; index++) answers.push(await call(here, PATH));
    expect(answers.slice(0, 20).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 400));
    const last = answers[20];
    expect(last?.status).toBe(429);
    expect(last?.body()).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('L2 every answer says where the address stands, to people and programs', async () => {
    const here = await start();
    const shown = async (accept: string) => {
      const { status, headers } = await call(here, PATH, { headers: { Accept: accept } });
      return [status, ...['limit', 'remaining'].map((name) => headers.get(`ratelimit-${name}`))];
    };
    expect(await shown('application/json')).toEqual([400, '20', '19']);
    expect(await shown('text/html')).toEqual([400, '20', '18']);
  });
});

describe('tokens', () => {
  it('O6 are nowhere readable: not in the database, the log, or what the operator sees', async () => {
    const here = await start();
    await here.authorise(LOCATION);
    const mac = await here.mac();
    await here.webhook({ messageId: 'm1' });
    await mac.nextFrame('send');
    await until(() => here.crm.accepted('m1').length === 1);
    const token = here.crm.callsTo('status')[0]?.headers['authorization']?.slice(7) ?? '';
    const [, payload = 'x', signature = 'x'] = token.split('.');
    const { body } = await here.operator('GET', '/operator/grants');
    const seen = `${await dumpFiles(here.dataDir)}\n${here.log}\n${JSON.stringify(body)}`;
    for (const secret of [payload, signature, here.crm.settings.clientSecret])
      expect(seen).not.toContain(secret);
  });

  it('O6 survive a rotation of the key', async () => {
    const [older, newer] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')];
    const here = await start({ env: { CRM_OAUTH_ENCRYPTION_KEY: older } });
    await here.authorise(LOCATION);
    const deliver = async (messageId: string) => {
      const mac = await here.mac();
      await here.webhook({ messageId });
      await mac.nextFrame('send');
      await until(() => here.crm.accepted(messageId).length === 1);
    };
    await here.restart({ CRM_OAUTH_ENCRYPTION_KEY: `${newer},${older}` });
    await deliver('m1');
    here.crm.expireTokens(LOCATION);
    await deliver('m2');
    await here.restart({ CRM_OAUTH_ENCRYPTION_KEY: newer });
    await deliver('m3');
    expect(here.crm.callsTo('token')).toHaveLength(2);
  });

  it('O7 are refreshed ahead of expiry, and used only when they are stored', async () => {
    const here = await start({ settings: { expiresInSec: 600 } });
    await here.authorise(LOCATION);
    const mac = await here.mac();
    for (const messageId of ['m1', 'm2']) {
      await here.clock.skip(301_000);
      await here.webhook({ messageId });
      await mac.nextFrame('send');
      await until(() => here.crm.accepted(messageId).length === 1);
    }
    const refreshes = here.crm.callsTo('token').slice(1);
    expect(refreshes).toHaveLength(2);
    expect(refreshes.map(({ body }) => (body as { grant_type: string }).grant_type)).toEqual([
      'refresh_token',
      'refresh_token',
    ]);
    expect(here.crm.callsTo('status').map(({ status }) => status)).toEqual([200, 200]);
  });

  it('O8 a revoked grant is shown to the operator, stops the calls, and is healed by a new authorisation', async () => {
    const here = await start();
    await here.authorise(LOCATION);
    const mac = await here.mac();
    here.crm.addContact({ locationId: LOCATION, phone: PHONE });
    here.crm.revoke(LOCATION);
    const seq = mac.received({ sender: PHONE, text: 'Hi' });
    const state = async () => {
      const { body } = await here.operator('GET', '/operator/grants');
      return (body['grants'] as { state: string; lastError: string | null }[])[0];
    };
    await until(async () => (await state())?.state === 'reauth_required');
    expect((await state())?.lastError).toContain('Invalid grant');
    const before = here.crm.calls.length;
    await here.clock.skip(60_000);
    await here.operator('GET', '/operator/grants');
    expect(here.crm.calls).toHaveLength(before);
    expect(mac.frames.filter(({ type }) => type === 'ack')).toEqual([]);
    await here.authorise(LOCATION);
    await here.clock.skip(60_000);
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect((await state())?.state).toBe('active');
  });

  it('O8 a paused location keeps its grant', async () => {
    const here = await start();
    await here.authorise(LOCATION);
    const mac = await here.mac();
    here.crm.addContact({ locationId: LOCATION, phone: PHONE });
    here.crm.setActive(LOCATION, false);
    here.crm.expireTokens(LOCATION);
    const seq = mac.received({ sender: PHONE, text: 'Hi' });
    await until(async () => {
      const { body } = await here.operator('GET', '/operator/grants');
      return JSON.stringify(body).includes('Location is not active');
    });
    const { body } = await here.operator('GET', '/operator/grants');
    expect(body['grants']).toMatchObject([{ state: 'active' }]);
    here.crm.setActive(LOCATION, true);
    await here.clock.skip(60_000);
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
  });

  it('O9 an agency install brings the tokens of its locations', async () => {
    const here = await start();
    const locations = [LOCATION, 'locBBBBBBBBBBBBBBBB2', 'locCCCCCCCCCCCCCCCC3'];
    const code = here.crm.install({ companyId: 'comp1', locations });
    const { status, body } = await call(here, `${PATH}?code=${code}`);
    expect(status).toBe(200);
    expect(body()).toMatchObject({ status: 'success', companyId: 'comp1', failed: [], later: 0 });
    expect(new Set((body() as { locations: string[] }).locations)).toEqual(new Set(locations));
    const mac = await here.mac('locCCCCCCCCCCCCCCCC3');
    await here.webhook({ locationId: 'locCCCCCCCCCCCCCCCC3', messageId: 'm1' });
    await mac.nextFrame('send');
    await until(() => here.crm.accepted('m1').length === 1);
  });

  it('O10 a private token set by the operator serves its location, encrypted', async () => {
    const here = await start({ env: { CRM_OAUTH_ENABLED: 'false' } });
    const pit = here.crm.pit(LOCATION);
    here.crm.addContact({ locationId: LOCATION, phone: PHONE });
    const mac = await here.mac();
    const seq = mac.received({ sender: PHONE, text: 'Hi' });
    const path = `/operator/locations/${LOCATION}/private-token`;
    expect((await here.operator('PUT', path, { token: 'Bearer x' })).status).toBe(400);
    expect(mac.frames.filter(({ type }) => type === 'ack')).toEqual([]);
    expect((await here.operator('PUT', path, { token: pit })).status).toBe(204);
    await here.clock.skip(60_000);
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    const { body } = await here.operator('GET', '/operator/grants');
    expect(body['privateTokens']).toMatchObject([{ locationId: LOCATION }]);
    expect(`${JSON.stringify(body)}${await dumpFiles(here.dataDir)}${here.log}`).not.toContain(pit);
    expect((await here.operator('DELETE', path)).status).toBe(204);
    expect((await here.operator('DELETE', path)).status).toBe(404);
  });

  it('O10 a single token serves while one location is known, and says so', async () => {
    const here = await start({ env: { CRM_OAUTH_ENABLED: 'false' } });
    const other = 'locBBBBBBBBBBBBBBBB2';
    here.crm.addContact({ locationId: LOCATION, phone: PHONE });
    await here.restart({ CRM_PIT_TOKEN: here.crm.pit(LOCATION) });
    const mac = await here.mac();
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(here.log).toContain('CRM_PIT_TOKEN serves this location');
    const second = await here.mac(other, 'mac-of-another');
    second.received({ sender: PHONE, text: 'Hi' });
    await until(async () => {
      await here.clock.skip(1000);
      return here.log.includes('several are known');
    });
    expect(here.crm.messages).toHaveLength(1);
    expect(here.crm.calls.every(({ locationId }) => locationId === LOCATION)).toBe(true);
  });
});

describe.skipIf(!(await hasPostgres()))('over two processes', () => {
  it('O7 fifty callers at expiry make one refresh', async () => {
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
