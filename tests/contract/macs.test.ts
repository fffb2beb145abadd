import { connect as connectTcp } from 'node:net';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { activate, connectMac, UpgradeError } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { dumpFiles } from './dump-files.ts';
import { bridges, GOOD, LOCATION } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridges();
const cleanup = createCleanup();
afterEach(() => cleanup.run());

const open = (env: Record<string, string> = {}) => start({ oauth: 'off', env });

/** A bridge with one license, and Macs that are activated, connected and registered by one call. */
async function withMacs(env: Record<string, string> = {}) {
  const bridge = await open(env);
  const license = await bridge.createLicense();
  const newToken = (deviceId?: string) => bridge.token(deviceId, license.key);
  const join = async (locationId: string, deviceId?: string) => {
    const mac = await bridge.connect({ token: await newToken(deviceId) });
    await mac.register(locationId);
    return mac;
  };
  return { bridge, license, newToken, join };
}

const setLicense = (bridge: TestBridge, id: string, change: object) =>
  bridge.operator('PATCH', `/operator/licenses/${id}`, change);
const assign = (bridge: TestBridge, locationId: string, licenseId: string | null) =>
  bridge.operator('PUT', `/operator/locations/${locationId}`, { licenseId });
const list = async (bridge: TestBridge, what: 'devices' | 'locations') =>
  (await bridge.operator('GET', `/operator/${what}`)).body[what] as Record<string, unknown>[];
const bound = (bridge: TestBridge) => bridge.metric('footbridge_macs_bound');

async function refusalOf(attempt: Promise<unknown>): Promise<{ status: number; code: string }> {
  const error = await attempt.then(
    () => expect.fail('was let in'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof UpgradeError)) throw error;
  const { code } = JSON.parse(error.body) as { code: string };
  return { status: error.status, code };
}

describe('enrolment', () => {
  it('M7 a license key and a device id take a seat and return a token, which is shown once and stored as a hash', async () => {
    const bridge = await open();
    const { key } = await bridge.createLicense(2);
    const first = await activate(bridge.url, { licenseKey: key, deviceId: 'mac-0001' });
    expect(first).toMatchObject({ status: 201, body: { seats: { used: 1, max: 2 } } });
    expect(first.deviceToken).toMatch(/^[\w-]{43}$/);
    const stored = await dumpFiles(bridge.dataDir);
    expect(stored).toContain('mac-0001');
    for (const kept of [stored, bridge.log]) {
      expect(kept).not.toContain(first.deviceToken);
      expect(kept).not.toContain(key.slice(3, 14));
      expect(kept).not.toContain(key.replaceAll('-', '').slice(2));
    }
  });

  it('M7 activating an active device again takes no second seat, returns a new token and invalidates the old one', async () => {
    const bridge = await open();
    const { key } = await bridge.createLicense(1);
    const first = await activate(bridge.url, { licenseKey: key, deviceId: 'mac-0001' });
    const mac = await bridge.connect({ token: first.deviceToken ?? '' });
    await mac.register('loc1');
    const again = await activate(bridge.url, { licenseKey: key.toLowerCase(), deviceId: 'mac-0001' });
    expect(again).toMatchObject({ status: 200, body: { seats: { used: 1, max: 1 } } });
    expect(again.deviceToken).not.toBe(first.deviceToken);
    expect(await mac.closed).toMatchObject({ code: 4000, reason: expect.stringContaining('new token') });
    const old = connectMac(bridge.url, { token: first.deviceToken ?? '' });
    expect(await refusalOf(old)).toEqual({ status: 401, code: 'UNAUTHORIZED' });
    await (await bridge.connect({ token: again.deviceToken ?? '' })).register('loc1');
  });

  it('M7 unknown, mistyped and revoked keys, suspended licenses and full ones get their documented codes', async () => {
    const bridge = await open();
    const [revoked, suspended, full] = [
      await bridge.createLicense(),
      await bridge.createLicense(),
      await bridge.createLicense(1),
    ];
    await setLicense(bridge, revoked.id, { status: 'revoked' });
    await setLicense(bridge, suspended.id, { status: 'suspended' });
    await activate(bridge.url, { licenseKey: full.key });
    const answer = async (licenseKey: string) => {
      const { status, body } = await activate(bridge.url, { licenseKey });
      return { status, code: body['code'], seats: body['seats'] };
    };
    const invalid = { status: 403, code: 'LICENSE_INVALID', seats: undefined };
    expect(await answer('nope')).toEqual(invalid);
    expect(await answer(revoked.key)).toEqual(invalid);
    expect(await answer(suspended.key)).toMatchObject({ status: 403, code: 'LICENSE_SUSPENDED' });
    expect(await answer(full.key)).toEqual({
      status: 409,
      code: 'SEATS_EXHAUSTED',
      seats: { used: 1, max: 1 },
    });
  });

  it('M7 a revoked key, an unknown key and a malformed key get the same bytes', async () => {
    const bridge = await open();
    const elsewhere = await open();
    const revoked = await bridge.createLicense();
    const unheardOf = await elsewhere.createLicense();
    await setLicense(bridge, revoked.id, { status: 'revoked' });
    const answers = [];
    for (const licenseKey of [revoked.key, unheardOf.key, 'FB-00000-00000'])
      answers.push((await activate(bridge.url, { licenseKey })).body);
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });

  it.each([
    ['no body', undefined],
    ['no JSON', '{'],
    ['an array', '[]'],
    ['null', 'null'],
    ['no key', { deviceId: 'mac-0001' }],
    ['a key that is not a string', { licenseKey: 7, deviceId: 'mac-0001' }],
    ['an oversized key', { licenseKey: 'x'.repeat(201), deviceId: 'mac-0001' }],
    ['no device id', { licenseKey: 'x' }],
    ['a short device id', { licenseKey: 'x', deviceId: 'mac-1' }],
    ['a device id with a space', { licenseKey: 'x', deviceId: 'my mac-0001' }],
    ['a name that is not a string', { licenseKey: 'x', deviceId: 'mac-0001', name: {} }],
    ['an oversized version', { licenseKey: 'x', deviceId: 'mac-0001', osVersion: 'x'.repeat(129) }],
  ])('M7 an activation with %s is an invalid request', async (_what, body) => {
    const bridge = await start();
    const response = await fetch(`${bridge.url}/mac/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: typeof body === 'object' ? JSON.stringify(body) : (body ?? null),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'INVALID_REQUEST', message: expect.any(String) });
  });

  it('M7 unusual characters in the description of a Mac are accepted', async () => {
    const bridge = await open();
    const { key } = await bridge.createLicense();
    const name = 'Front\u0000desk\u001b[31m \ud800 “Ünïcode” 🖥';
    expect(await activate(bridge.url, { licenseKey: key, name })).toMatchObject({ status: 201 });
    const [device] = await list(bridge, 'devices');
    expect(device?.['name']).toBe('Front desk [31m \ufffd “Ünïcode” 🖥');
  });

  it('M7 of 40 simultaneous activations for one seat, one succeeds', async () => {
    const bridge = await open();
    const { key } = await bridge.createLicense(1);
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => activate(bridge.url, { licenseKey: key })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(39);
  });

  it('M7 deactivation frees the seat, invalidates the token and closes the socket', async () => {
    const bridge = await open();
    const { key } = await bridge.createLicense(1);
    const token = await bridge.token(undefined, key);
    const mac = await bridge.connect({ token });
    await mac.register('loc1');
    const deactivate = () =>
      fetch(`${bridge.url}/mac/deactivate`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      });
    expect((await deactivate()).status).toBe(204);
    expect(await mac.closed).toMatchObject({ code: 4503 });
    expect((await deactivate()).status).toBe(401);
    expect(await refusalOf(connectMac(bridge.url, { token }))).toEqual({ status: 401, code: 'UNAUTHORIZED' });
    expect(await activate(bridge.url, { licenseKey: key })).toMatchObject({ status: 201 });
  });

  it('M7 thirty wrong keys lock an address out, even for valid keys', async () => {
    const bridge = await open();
    const { key } = await bridge.createLicense();
    for (let tries = 0; tries < 30; tries++)
      expect(await activate(bridge.url, { licenseKey: `wrong ${tries}` })).toMatchObject({ status: 403 });
    const locked = await fetch(`${bridge.url}/mac/activate`, {
      method: 'POST',
      body: JSON.stringify({ licenseKey: key, deviceId: 'mac-0001' }),
    });
    expect(locked.status).toBe(429);
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(30);
    expect(await locked.json()).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
  });

  it('M7 activations are limited per address', async () => {
    const bridge = await open({ RATE_LIMIT_ENROLMENT: '3' });
    const { key } = await bridge.createLicense();
    const statuses = [];
    for (let tries = 0; tries < 4; tries++)
      statuses.push((await activate(bridge.url, { licenseKey: key })).status);
    expect(statuses).toEqual([201, 201, 201, 429]);
  });
});

describe('the upgrade request', () => {
  it('M7 is accepted with a valid token, with the subprotocol and without compression', async () => {
    const { bridge, newToken } = await withMacs();
    const token = await newToken();
    const response = await upgrade(bridge.url, {
      Authorization: `bearer ${token}`,
      'Sec-WebSocket-Protocol': 'other.v9, footbridge.v1',
      'Sec-WebSocket-Extensions': 'permessage-deflate',
    });
    expect(response).toMatch(/^HTTP\/1\.1 101 /);
    expect(response).toContain('Sec-WebSocket-Protocol: footbridge.v1\r\n');
    expect(response).not.toContain('Extensions');
  });

  it.each([
    ['without a token', {}, 401, 'UNAUTHORIZED'],
    ['with a malformed token', { Authorization: 'Bearer short' }, 401, 'UNAUTHORIZED'],
    ['with an unknown token', { Authorization: `Bearer ${'A'.repeat(43)}` }, 401, 'UNAUTHORIZED'],
    ['with basic credentials', { Authorization: 'Basic YTpi' }, 401, 'UNAUTHORIZED'],
    ['with another subprotocol', { 'Sec-WebSocket-Protocol': 'footbridge.v2' }, 426, 'UPGRADE_REQUIRED'],
    ['without a subprotocol', { 'Sec-WebSocket-Protocol': '' }, 426, 'UPGRADE_REQUIRED'],
    ['from a web page', { Origin: 'https://example.com' }, 403, 'FORBIDDEN'],
  ])('M7 %s is rejected', async (_how, headers, status, code) => {
    const bridge = await start();
    const response = await upgrade(bridge.url, { 'Sec-WebSocket-Protocol': 'footbridge.v1', ...headers });
    expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(JSON.parse(response.split('\r\n\r\n')[1] ?? '')).toMatchObject({
      code,
      error: expect.any(String),
      message: expect.any(String),
    });
    expect(await bound(bridge)).toBe(0);
  });

  it('M7 without an upgrade gets 426', async () => {
    const bridge = await open();
    const response = await fetch(`${bridge.url}/mac/socket`);
    expect([response.status, await response.json()]).toMatchObject([426, { code: 'UPGRADE_REQUIRED' }]);
  });

  it('M8 for a suspended license gets 403, and is accepted once the license is resumed', async () => {
    const { bridge, license, newToken } = await withMacs();
    const token = await newToken();
    await (await bridge.connect({ token })).close();
    await setLicense(bridge, license.id, { status: 'suspended' });
    const refused = connectMac(bridge.url, { token });
    expect(await refusalOf(refused)).toEqual({ status: 403, code: 'LICENSE_SUSPENDED' });
    await setLicense(bridge, license.id, { status: 'active' });
    await (await bridge.connect({ token })).register('loc1');
  });

  it('M7 is limited per address', async () => {
    const { bridge, newToken } = await withMacs({ RATE_LIMIT_MAC_SOCKET: '2' });
    const token = await newToken();
    await bridge.connect({ token });
    await bridge.connect({ token });
    expect(await refusalOf(connectMac(bridge.url, { token }))).toEqual({
      status: 429,
      code: 'TOO_MANY_REQUESTS',
    });
  });

  it('M7 gets 503 from a node with the maximum number of Macs', async () => {
    const { bridge, newToken } = await withMacs({ MAC_MAX_SESSIONS: '1' });
    const token = await newToken();
    const mac = await bridge.connect({ token });
    expect(await refusalOf(connectMac(bridge.url, { token }))).toMatchObject({ status: 503 });
    await mac.close();
    await until(() => bridge.log.includes('mac.disconnected'));
    await bridge.connect({ token });
  });

  it('M7 is limited for an address with many wrong tokens, but not for Macs with a valid one', async () => {
    const { bridge, newToken } = await withMacs();
    const token = await newToken();
    const attempts = await Promise.all(
      Array.from({ length: 310 }, (_, index) =>
        refusalOf(connectMac(bridge.url, { token: String(index).padStart(43, 'x') })),
      ),
    );
    expect(attempts.filter(({ status }) => status === 401)).toHaveLength(300);
    expect(attempts.filter(({ status }) => status === 429)).toHaveLength(10);
    await (await bridge.connect({ token })).register('loc1');
  });

  it('M7 needs no database query when many Macs reconnect', async () => {
    const { bridge, newToken } = await withMacs();
    const tokens: string[] = [];
    for (let index = 0; index < 20; index++) tokens.push(await newToken());
    const joinAll = () =>
      Promise.all(
        tokens.map(async (token, index) => {
          const mac = await bridge.connect({ token });
          await mac.register(`loc${index}`);
          return mac;
        }),
      );
    const macs = await joinAll();
    bridge.breakDatabase();
    for (const mac of macs) mac.terminate();
    await until(async () => (await bound(bridge)) === 0);
    await joinAll();
  });
});

describe('registration', () => {
  it('M1 a Mac that registers is bound to its location and receives its window', async () => {
    const { bridge, join } = await withMacs();
    const mac = await join('loc1');
    expect(mac.frames).toMatchObject([
      { type: 'registered', locationId: 'loc1', window: 64, sessionId: expect.any(String) },
    ]);
    expect(await list(bridge, 'locations')).toMatchObject([
      { locationId: 'loc1', connected: { name: 'Test Mac' } },
    ]);
  });

  it('M1 a second Mac displaces the first one, which is closed with 4501', async () => {
    const { bridge, join } = await withMacs();
    const [first, second] = [await join('loc1'), await join('loc1')];
    expect(await first.closed).toMatchObject({ code: 4501 });
    expect(await bridge.reaches('loc1')).toBe(true);
    await second.nextFrame('send');
    expect(first.frames.filter(({ type }) => type === 'send')).toEqual([]);
  });

  it('M4 a message that another Mac has delivered is not forwarded when the webhook comes again', async () => {
    const bridge = await start({ oauth: 'ready' });
    const send = async (mac: Mac, messageId: string, status: 'delivered' | 'failed') => {
      expect((await bridge.post({ ...GOOD, messageId })).status).toBe(200);
      const { requestId } = await mac.nextFrame('send');
      const error = status === 'failed' ? { code: 'SEND_FAILED', message: 'Not sent' } : undefined;
      await mac.ack(mac.status({ requestId, messageId, status, ...(error && { error }) }), 60_000);
    };
    const first = await bridge.mac(LOCATION, 'mac-first');
    for (const messageId of ['delivered', 'failed']) bridge.crm.newMessage(LOCATION, messageId);
    await send(first, 'delivered', 'delivered');
    await send(first, 'failed', 'failed');
    // The Mac that sent it recognises it by itself.
    await send(first, 'delivered', 'delivered');
    first.terminate();
    const told = bridge.crm.statusesOf('delivered').length;
    for (const isRestarted of [false, true]) {
      if (isRestarted) await bridge.restart();
      const other = await bridge.mac(LOCATION, 'mac-other', 10);
      const { status, json } = await bridge.post({ ...GOOD, messageId: 'delivered' });
      expect([status, json?.['status'], json?.['messageId']]).toEqual([200, 'success', 'delivered']);
      await bridge.journalled(json?.['requestId'], 'accepted');
      if (!isRestarted) await send(other, 'failed', 'delivered');
      await send(other, `new ${isRestarted}`, 'delivered');
      const sent = other.frames.flatMap((frame) => (frame.type === 'send' ? [frame.messageId] : []));
      expect(sent).not.toContain('delivered');
    }
    expect(bridge.crm.statusesOf('delivered')).toHaveLength(told);
  });

  it('M1 a device that registers again closes its old socket with 4000 and displaces no Mac', async () => {
    const { bridge, newToken } = await withMacs();
    const token = await newToken();
    const old = await bridge.connect({ token });
    await old.register('loc1');
    for (let again = 0; again < 6; again++) await (await bridge.connect({ token })).register('loc1');
    expect(await old.closed).toMatchObject({ code: 4000 });
    expect(bridge.log).not.toContain('location.contended');
    await until(async () => (await bound(bridge)) === 1);
  });

  it('M1 the fifth displacement within a minute is delayed and reported to the operator', async () => {
    const { bridge, newToken, join } = await withMacs();
    const [one, two] = [await newToken(), await newToken()];
    await join('loc1');
    const ended = [];
    for (const token of [one, two, one, two, one, one]) {
      const mac = await bridge.connect({ token });
      ended.push(
        await mac.register('loc1').then(
          () => undefined,
          () => mac.closed,
        ),
      );
    }
    expect(ended).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      { code: 4029, reason: '2' },
      { code: 4029, reason: '4' },
    ]);
    expect(bridge.log.match(/"event":"location\.contended","locationId":"loc1"/g)).toHaveLength(2);
    expect(await bridge.reaches('loc1')).toBe(true);
  });

  it('M8 the first license that binds a location owns it, and Macs of other licenses are closed with 4504', async () => {
    const { bridge, join } = await withMacs();
    const incumbent = await join('loc1');
    const other = await bridge.createLicense();
    const mac = await bridge.connect({ token: await bridge.token(undefined, other.key) });
    await expect(mac.register('loc1')).rejects.toMatchObject({ code: 4504 });
    expect(incumbent.isOpen).toBe(true);
    const next = await bridge.connect({ token: await bridge.token(undefined, other.key) });
    await next.register('loc2');
  });

  it('M8 with LOCATION_CLAIM=operator a location must be assigned first', async () => {
    const { bridge, license, newToken } = await withMacs({ LOCATION_CLAIM: 'operator' });
    const token = await newToken();
    const early = await bridge.connect({ token });
    await expect(early.register('loc1')).rejects.toMatchObject({ code: 4504 });
    const [seen] = await list(bridge, 'locations');
    expect(seen).toMatchObject({ locationId: 'loc1', state: 'unassigned' });
    await assign(bridge, 'loc1', license.id);
    await (await bridge.connect({ token })).register('loc1');
  });

  it('M8 a license suspended between the upgrade and the registration cannot register', async () => {
    const { bridge, license, newToken } = await withMacs();
    const mac = await bridge.connect({ token: await newToken() });
    const suspended = setLicense(bridge, license.id, { status: 'suspended' });
    await expect(mac.register('loc1')).rejects.toMatchObject({ code: 4503 });
    await suspended;
    expect(await bound(bridge)).toBe(0);
  });

  it('M1 a killed Mac frees its location at once', async () => {
    const { bridge, join } = await withMacs();
    for (let round = 0; round < 10; round++) {
      const mac = await join('loc1');
      expect(await bridge.reaches('loc1')).toBe(true);
      mac.terminate();
      await until(async () => !(await bridge.reaches('loc1')));
    }
    expect(bridge.log).not.toContain('location.contended');
  });

  it('M1 the last Mac holds the location when many register at the same moment', async () => {
    const { bridge, newToken } = await withMacs();
    const macs = await Promise.all(
      Array.from({ length: 4 }, async () => bridge.connect({ token: await newToken() })),
    );
    await Promise.allSettled(macs.map((mac) => mac.register('loc1')));
    await until(() => macs.filter((mac) => mac.isOpen).length === 1);
    expect(await bridge.reaches('loc1')).toBe(true);
    await macs.find((mac) => mac.isOpen)?.nextFrame('send');
    expect(await bound(bridge)).toBe(1);
  });

  it('M1 a Mac is asked to reconnect, not to stay away, when the database fails', async () => {
    const { bridge, newToken } = await withMacs();
    const mac = await bridge.connect({ token: await newToken() });
    bridge.breakDatabase();
    await expect(mac.register('loc1')).rejects.toMatchObject({ code: 1001 });
    const cold = connectMac(bridge.url, { token: 'A'.repeat(43) });
    expect(await refusalOf(cold)).toEqual({ status: 503, code: 'SERVICE_UNAVAILABLE' });
  });
});

describe('a change by the operator', () => {
  it('M8 that suspends a license closes its Macs with 4503 and no others', async () => {
    const { bridge, license, join } = await withMacs();
    const macs = [await join('loc1'), await join('loc2')];
    const other = await bridge.createLicense();
    const bystander = await bridge.connect({ token: await bridge.token(undefined, other.key) });
    await bystander.register('loc3');
    await setLicense(bridge, license.id, { status: 'suspended' });
    for (const mac of macs) expect(await mac.closed).toMatchObject({ code: 4503 });
    expect(await bridge.reaches('loc1')).toBe(false);
    expect(await bridge.reaches('loc3')).toBe(true);
  });

  it('M8 that revokes a device closes its Mac with 4503, and the device cannot activate until it is restored', async () => {
    const { bridge, license, newToken } = await withMacs();
    const deviceId = 'mac-0001';
    const token = await newToken(deviceId);
    const mac = await bridge.connect({ token });
    await mac.register('loc1');
    const [device] = await list(bridge, 'devices');
    const change = (how: string) =>
      bridge.operator('POST', `/operator/devices/${String(device?.['id'])}/${how}`);
    await change('revoke');
    expect(await mac.closed).toMatchObject({ code: 4503 });
    expect(await refusalOf(connectMac(bridge.url, { token }))).toMatchObject({ status: 401 });
    const again = () => activate(bridge.url, { licenseKey: license.key, deviceId });
    expect(await again()).toMatchObject({ status: 403, body: { code: 'LICENSE_INVALID' } });
    await change('restore');
    expect(await again()).toMatchObject({ status: 201 });
  });

  it('M8 that reassigns or releases a location closes its Mac with 4504', async () => {
    const { bridge, join } = await withMacs();
    const [given, released, kept] = [await join('loc1'), await join('loc2'), await join('loc3')];
    const other = await bridge.createLicense();
    await assign(bridge, 'loc1', other.id);
    await assign(bridge, 'loc2', null);
    expect(await given.closed).toMatchObject({ code: 4504 });
    expect(await released.closed).toMatchObject({ code: 4504 });
    const successor = await bridge.connect({ token: await bridge.token(undefined, other.key) });
    await successor.register('loc1');
    expect(kept.isOpen).toBe(true);
  });

  it('M8 that disconnects a Mac closes it with a reason, and the Mac may reconnect', async () => {
    const { bridge, newToken } = await withMacs();
    const token = await newToken();
    const mac = await bridge.connect({ token });
    await mac.register('loc1');
    await bridge.operator('POST', '/operator/locations/loc1/disconnect');
    expect(await mac.closed).toEqual({ code: 4000, reason: 'disconnected by the operator' });
    await (await bridge.connect({ token })).register('loc1');
  });

  it('M8 is in the audit log, newest first and without secrets', async () => {
    const { bridge, license } = await withMacs();
    await setLicense(bridge, license.id, { status: 'suspended' });
    await assign(bridge, 'loc1', license.id);
    const entries = bridge.rows('select * from audit order by at desc, id desc');
    expect(entries.map(({ actor, action, target }) => [actor, action, target].join(' '))).toEqual([
      'operator location.assigned loc1',
      `operator license.changed ${license.id}`,
      `operator license.created ${license.id}`,
    ]);
    expect(JSON.stringify(entries)).not.toContain(license.key.slice(3, 14));
  });
});

/** Sends an upgrade request and returns the raw response. */
async function upgrade(url: string, headers: Record<string, string>): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connectTcp(Number(port), hostname);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `GET /mac/socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${lines.join('')}\r\n`,
  );
  cleanup.add(() => socket.destroy());
  let answer = '';
  for await (const chunk of socket) {
    answer += String(chunk);
    const [head = '', body] = answer.split('\r\n\r\n');
    const length = Number(/Content-Length: (\d+)/.exec(head)?.[1] ?? 0);
    if (body !== undefined && Buffer.byteLength(body) >= length) break;
  }
  return answer;
}
