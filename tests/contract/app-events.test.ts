import { ed25519Key, signedRequest } from '@footbridge/testkit/keys';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { GOOD, LOCATION, OTHER_LOCATION, PHONE, TestBridge } from './test-bridge.ts';
import type { TestBridgeOptions } from './test-bridge.ts';

let running: TestBridge | undefined;
afterEach(() => running?.stop());

async function start(options?: TestBridgeOptions): Promise<TestBridge> {
  running = await TestBridge.start({ oauth: 'unauthorised', ...options });
  return running;
}

const COMPANY = 'comp1';
const send = (bridge: TestBridge, type: string, fields: object) =>
  bridge.crm.sendAppEvent({ type, ...fields });
const callback = (bridge: TestBridge, code: string) =>
  fetch(`${bridge.bridge.url}/oauth/callback/crm?code=${encodeURIComponent(code)}`);
const installCompany = (bridge: TestBridge, locations: string[]) =>
  callback(bridge, bridge.crm.install({ companyId: COMPANY, locations }));

async function states(bridge: TestBridge): Promise<Record<string, string>> {
  const { body } = await bridge.operator('GET', '/operator/grants');
  const grants = body['grants'] as { ownerId: string; state: string }[];
  return Object.fromEntries(grants.map(({ ownerId, state }) => [ownerId, state]));
}
const reaches = (bridge: TestBridge, ownerId: string, state: string) =>
  until(async () => (await states(bridge))[ownerId] === state, { what: `${ownerId} ${state}` });
/** The documented examples of HighLevel have neither. */
const UNDATED = { timestamp: undefined, webhookId: undefined };
const DAY_MS = 86_400_000;
const at = (time: number) => ({ timestamp: new Date(time).toISOString() });

describe('E1 the endpoint for app events', () => {
  it('E1 gives 200 for every well-formed event, known or not, with and without OAuth', async () => {
    for (const oauth of ['unauthorised', 'off'] as const) {
      const bridge = await start({ oauth });
      for (const event of [
        { type: 'INSTALL', locationId: LOCATION, companyId: COMPANY },
        { type: 'INSTALL', companyId: COMPANY },
        { type: 'INSTALL' },
        { type: 'UPDATE', locationId: LOCATION, previousVersionId: 'v1' },
        { type: 'UNINSTALL', locationId: 'never-seen' },
        { type: 'SomethingNew', deeply: { nested: [1, 2, null] } },
      ]) {
        const sent = await bridge.crm.sendAppEvent(event);
        expect([sent.status, sent.answer]).toEqual([200, { status: 'success' }]);
      }
      await bridge.stop();
    }
  });

  it('E1 T54 gives 400 for an event with thousands of arrays, which would be slow to parse', async () => {
    const bridge = await start();
    const lists = Array.from({ length: 2000 }, () => []);
    const sent = await bridge.crm.sendAppEvent({ type: 'SomethingNew', locationId: LOCATION, lists });
    expect(sent.status).toBe(400);
  });

  it('E1 gives 401 without a valid signature, with the bytes of the webhook, and changes nothing', async () => {
    const bridge = await start({ oauth: 'ready' });
    const event = { type: 'UNINSTALL', locationId: LOCATION };
    const forged = await bridge.crm.sendAppEvent(event, { key: ed25519Key() });
    expect([forged.status, forged.answer]).toEqual([401, { error: 'Invalid signature' }]);
    const unsigned = await fetch(`${bridge.bridge.url}/crm/events`, {
      method: 'POST',
      body: JSON.stringify(event),
    });
    expect([unsigned.status, await unsigned.text()]).toEqual([401, '{"error":"Invalid signature"}']);
    expect(await states(bridge)).toEqual({ [LOCATION]: 'active' });
  });

  it('E1 gives 400 for a signed body that is not an event', async () => {
    const bridge = await start({ oauth: 'ready' });
    for (const raw of [
      '',
      '[]',
      'null',
      '{',
      '{}',
      '{"type":7}',
      '{"type":""}',
      `{"type":"UNINSTALL","locationId":{"a":1}}`,
      `{"type":"UNINSTALL","locationId":"a\\u0000b"}`,
      `{"type":"UNINSTALL","locationId":"${'x'.repeat(257)}"}`,
    ]) {
      const sent = await bridge.crm.sendAppEvent({}, { raw });
      expect([raw.slice(0, 50), sent.status]).toEqual([raw.slice(0, 50), 400]);
    }
    expect(await states(bridge)).toEqual({ [LOCATION]: 'active' });
  });

  it('E1 ignores events of other apps, which the CRM signs with the same key', async () => {
    const bridge = await start({ oauth: 'ready', env: { OPT_OUT_ENFORCED: 'true' } });
    const [appId = ''] = bridge.crm.settings.clientId.split('-');
    const foreign = appId.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
    const dnd = { type: 'ContactDndUpdate', locationId: LOCATION, phone: PHONE, dnd: true };
    for (const event of [{ type: 'UNINSTALL', locationId: LOCATION }, dnd]) {
      const { status } = await bridge.crm.sendAppEvent({ ...event, appId: foreign });
      expect(status).toBe(200);
    }
    expect(await states(bridge)).toEqual({ [LOCATION]: 'active' });
    await bridge.mac();
    expect((await bridge.post(GOOD)).status).toBe(200);
    expect(bridge.log).toContain('app.foreign_event');
    for (const id of [undefined, null, 7, '', 'another form', appId])
      expect(
        (await bridge.crm.sendAppEvent({ type: 'UPDATE', locationId: LOCATION, appId: id })).status,
      ).toBe(200);
    await bridge.crm.sendAppEvent({ type: 'UNINSTALL', locationId: LOCATION, appId });
    expect(await states(bridge)).toEqual({ [LOCATION]: 'uninstalled' });
  });

  it('E1 T66 recognises an event that arrives again for a week, also after a restart', async () => {
    const bridge = await start({ oauth: 'ready' });
    const event = { type: 'INSTALL', locationId: OTHER_LOCATION, webhookId: 'w1', ...at(bridge.clock.now()) };
    await bridge.crm.sendAppEvent(event);
    bridge.clock.freeze(2 * DAY_MS);
    // It was expected for a day.
    await until(async () => {
      await bridge.clock.skip(60_000);
      return (await states(bridge))[OTHER_LOCATION] === undefined;
    });
    await bridge.restart();
    expect((await bridge.crm.sendAppEvent(event)).status).toBe(200);
    expect(await states(bridge)).toEqual({ [LOCATION]: 'active' });
    expect(bridge.log).toContain('app.event_repeated');
    expect(await bridge.metric('footbridge_dedupe_hits_total')).toBe(1);
    bridge.clock.freeze(6 * DAY_MS);
    await bridge.crm.sendAppEvent(event);
    expect(await states(bridge)).toMatchObject({ [OTHER_LOCATION]: 'expected' });
  });

  it('E1 T66 an UNINSTALL without a time that is late or arrives again ends no grant that the CRM accepts', async () => {
    const bridge = await start();
    await installCompany(bridge, [LOCATION]);
    await bridge.authorise(OTHER_LOCATION);
    const owners = [{ locationId: LOCATION }, { locationId: OTHER_LOCATION }, { companyId: COMPANY }];
    const active = { [COMPANY]: 'active', [LOCATION]: 'active', [OTHER_LOCATION]: 'active' };
    const ignored = () => bridge.log.split('app.uninstall_ignored').length - 1;
    bridge.crm.forget();
    for (const owner of owners) await send(bridge, 'UNINSTALL', { ...owner, ...UNDATED });
    await until(() => ignored() === 3, { what: 'three questions to the CRM' });
    expect(bridge.crm.calls).toHaveLength(3);
    // Repeats lead to one question a minute.
    for (let time = 0; time < 10; time++)
      for (const owner of owners)
        expect((await send(bridge, 'UNINSTALL', { ...owner, ...UNDATED })).status).toBe(200);
    await bridge.clock.skip(60_000);
    await until(() => ignored() === 6, { what: 'three more questions' });
    expect(bridge.crm.calls).toHaveLength(6);
    expect(await states(bridge)).toEqual(active);
    // An expired access token is not the end of the grant.
    bridge.crm.expireTokens(LOCATION);
    await send(bridge, 'UNINSTALL', { locationId: LOCATION, ...UNDATED });
    await bridge.clock.skip(60_000);
    await until(() => ignored() === 7);
    expect(await states(bridge)).toEqual(active);
  });

  it('E1 T66 keeps the tokens while the CRM cannot say whether it accepts them, also over a restart', async () => {
    const bridge = await start({ oauth: 'ready' });
    const mac = await bridge.mac();
    const fault = bridge.crm.injectFault({ match: 'duplicate', times: 1000, how: { status: 503 } });
    await send(bridge, 'UNINSTALL', { locationId: LOCATION, ...UNDATED });
    await until(() => fault.hits > 0, { what: 'a question to the CRM' });
    expect(await states(bridge)).toEqual({ [LOCATION]: 'active' });
    await bridge.settled();
    mac.terminate();
    await bridge.restart();
    bridge.crm.revoke(LOCATION);
    fault.stop();
    await bridge.clock.skip(60_000);
    await reaches(bridge, LOCATION, 'uninstalled');
  });

  it('E1 ignores a replayed event: an old installation does not restore an uninstalled app', async () => {
    const bridge = await start({ oauth: 'ready' });
    const now = bridge.clock.now();
    const replay = { type: 'INSTALL', locationId: LOCATION, companyId: COMPANY, ...at(now - 60_000) };
    await bridge.crm.sendAppEvent({ type: 'UNINSTALL', locationId: LOCATION, ...at(now) });
    for (let count = 0; count < 3; count++) expect((await bridge.crm.sendAppEvent(replay)).status).toBe(200);
    expect(await states(bridge)).toEqual({ [LOCATION]: 'uninstalled' });
  });

  it('E1 gives 401 for an altered body, a signature in another header, and the literal N/A', async () => {
    const bridge = await start({ oauth: 'ready' });
    const { key } = bridge.crm;
    const event = JSON.stringify({ type: 'UPDATE', locationId: LOCATION });
    const { headers } = signedRequest(event, key);
    const uninstall = event.replace('UPDATE', 'UNINSTALL');
    for (const [body, sent] of [
      [uninstall, headers],
      [` ${event}`, headers],
      [uninstall, { ...headers, [key.header]: 'N/A' }],
      [uninstall, { ...headers, [key.header]: '' }],
      [uninstall, { 'X-WH-Signature': headers[key.header] ?? '' }],
    ] as const) {
      const answer = await fetch(`${bridge.url}/crm/events`, { method: 'POST', headers: sent, body });
      expect(answer.status).toBe(401);
    }
    expect(await states(bridge)).toEqual({ [LOCATION]: 'active' });
  });

  it('E1 gives 413 for an event over 64 KB, before its signature is verified', async () => {
    const bridge = await start({ oauth: 'ready' });
    const raw = JSON.stringify({ type: 'UNINSTALL', locationId: LOCATION, padding: 'x'.repeat(70_000) });
    const { status } = await bridge.crm.sendAppEvent({}, { raw });
    expect(status).toBe(413);
    expect(await states(bridge)).toEqual({ [LOCATION]: 'active' });
  });

  it('E1 rejects events of other locations and of companies that are signed with a key limited to a location', async () => {
    const bridge = await start();
    await installCompany(bridge, [LOCATION, OTHER_LOCATION]);
    const key = ed25519Key();
    await bridge.trust(key, { locations: [LOCATION] });
    const status = async (fields: object) =>
      (await bridge.crm.sendAppEvent({ type: 'UNINSTALL', ...fields }, { key })).status;
    expect(await status({ companyId: COMPANY })).toBe(401);
    expect(await status({ locationId: OTHER_LOCATION })).toBe(401);
    expect(await status({ locationId: LOCATION })).toBe(200);
    expect(await states(bridge)).toEqual({
      [COMPANY]: 'active',
      [LOCATION]: 'uninstalled',
      [OTHER_LOCATION]: 'active',
    });
  });
});

describe('E2 an installation', () => {
  it('E2 in a later location of a known company fetches its token, also when the event names no company', async () => {
    const bridge = await start();
    await installCompany(bridge, [LOCATION]);
    for (const [locationId, companyId] of [
      ['later1', COMPANY],
      ['later2', undefined],
    ] as const) {
      bridge.crm.addLocation(COMPANY, locationId);
      await send(bridge, 'INSTALL', { locationId, companyId });
      await reaches(bridge, locationId, 'active');
    }
  });

  it('E2 before the grant of the company waits, and is served when the grant arrives', async () => {
    const bridge = await start();
    await send(bridge, 'INSTALL', { locationId: LOCATION, companyId: COMPANY });
    await send(bridge, 'INSTALL', { locationId: OTHER_LOCATION });
    expect(await states(bridge)).toEqual({ [LOCATION]: 'expected', [OTHER_LOCATION]: 'expected' });
    const answer = await installCompany(bridge, [LOCATION, OTHER_LOCATION]);
    expect(await answer.json()).toMatchObject({
      locations: expect.arrayContaining([LOCATION, OTHER_LOCATION]),
    });
    expect(await states(bridge)).toMatchObject({ [LOCATION]: 'active', [OTHER_LOCATION]: 'active' });
  });

  it('E2 whose token request fails is served later, also after a restart', async () => {
    const bridge = await start();
    await installCompany(bridge, [LOCATION]);
    bridge.crm.addLocation(COMPANY, OTHER_LOCATION);
    const fault = bridge.crm.injectFault({ match: 'locationToken', times: 1000, how: { status: 503 } });
    await send(bridge, 'INSTALL', { locationId: OTHER_LOCATION, companyId: COMPANY });
    await until(() => fault.hits > 0, { what: 'a failed request' });
    expect((await states(bridge))[OTHER_LOCATION]).toBe('expected');
    fault.stop();
    await bridge.restart();
    await reaches(bridge, OTHER_LOCATION, 'active');
  });
});

describe('E3 an uninstallation', () => {
  it('E3 deletes the grant, stops the calls, keeps license and binding, and is shown to the operator', async () => {
    const bridge = await start({ oauth: 'ready' });
    const mac = await bridge.mac();
    expect((await bridge.post(GOOD)).status).toBe(200);
    await until(() => bridge.crm.statuses.length > 0, { what: 'pending' });
    await send(bridge, 'UNINSTALL', { locationId: LOCATION });
    bridge.crm.forget();
    mac.received({ sender: PHONE, text: 'Hello?' });
    expect((await bridge.post({ ...GOOD, messageId: 'message-2' })).status).toBe(200);
    await mac.nextFrame('send', 60_000);
    await until(async () => (await states(bridge))[LOCATION] === 'uninstalled');
    expect(bridge.crm.calls).toEqual([]);
    expect(mac.isOpen).toBe(true);
    const { body } = await bridge.operator('GET', '/operator/tenants');
    expect(JSON.stringify(body)).toContain('The app was uninstalled in this sub-account.');
  });

  it('E3 of a company ends the grants that were derived from it', async () => {
    const bridge = await start();
    await installCompany(bridge, [LOCATION, OTHER_LOCATION]);
    await send(bridge, 'UNINSTALL', { companyId: COMPANY });
    expect(await states(bridge)).toEqual({
      [COMPANY]: 'uninstalled',
      [LOCATION]: 'uninstalled',
      [OTHER_LOCATION]: 'uninstalled',
    });
  });

  it('E3 is ended by a later installation, and not by an older one', async () => {
    const bridge = await start({ oauth: 'ready' });
    await send(bridge, 'UNINSTALL', { locationId: LOCATION });
    await send(bridge, 'INSTALL', { locationId: LOCATION, ...at(bridge.clock.now() - 60_000) });
    expect(await states(bridge)).toEqual({ [LOCATION]: 'uninstalled' });
    await callback(bridge, bridge.crm.install({ locationId: LOCATION }));
    expect(await states(bridge)).toEqual({ [LOCATION]: 'active' });
  });

  it('E3 an event from before the installation, or a repeated one, changes nothing', async () => {
    const bridge = await start({ oauth: 'ready' });
    const event = { locationId: LOCATION, ...at(bridge.clock.now() - 60_000) };
    await send(bridge, 'UNINSTALL', event);
    await send(bridge, 'UNINSTALL', event);
    expect(await states(bridge)).toEqual({ [LOCATION]: 'active' });
  });

  it('E3 during a refresh does not bring the token back', async () => {
    const bridge = await start({ oauth: 'ready' });
    const mac = await bridge.mac();
    bridge.crm.expireTokens(LOCATION);
    const slow = bridge.crm.injectFault({ match: 'token', times: 1, how: { delayMs: 1500 } });
    mac.received({ sender: PHONE, text: 'Hello' });
    await until(() => slow.hits > 0, { what: 'a refresh' });
    await send(bridge, 'UNINSTALL', { locationId: LOCATION });
    await reaches(bridge, LOCATION, 'uninstalled');
    const refreshed = () => bridge.crm.calls.some(({ path }) => path.includes('/oauth/token'));
    await until(refreshed, { what: 'the end of the refresh' });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await states(bridge)).toEqual({ [LOCATION]: 'uninstalled' });
    bridge.crm.forget();
    mac.received({ sender: PHONE, text: 'Hello again' });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(bridge.crm.calls).toEqual([]);
  });
});
