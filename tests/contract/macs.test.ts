import { connect as connectTcp } from 'node:net';

import { activate, connectMac, UpgradeError } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { location, startMacHouse } from './mac-house.ts';
import type { HouseOptions, MacHouse } from './mac-house.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function open(options?: HouseOptions): Promise<MacHouse> {
  const house = await startMacHouse(options);
  cleanup.add(() => house.stop());
  return house;
}

async function tokenOf(house: MacHouse, licenseKey: string, deviceId?: string): Promise<string> {
  const { deviceToken, body } = await activate(house.url, {
    licenseKey,
    ...(deviceId === undefined ? {} : { deviceId }),
  });
  return deviceToken ?? expect.fail(JSON.stringify(body));
}

async function connect(house: MacHouse, token: string): Promise<Mac> {
  const mac = await connectMac(house.url, { token });
  cleanup.add(() => mac.terminate());
  return mac;
}

/** A house with one license, and Macs that are activated, connected and registered by one call. */
async function withMacs(options?: HouseOptions) {
  const house = await open(options);
  const license = await house.createLicense();
  const join = async (locationId: string, deviceId?: string) => {
    const mac = await connect(house, await tokenOf(house, license.key, deviceId));
    await mac.register(locationId);
    return mac;
  };
  return { house, license, join };
}

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
  it('M7 a license key and a device id take a seat and give a token, shown once and kept hashed', async () => {
    const house = await open();
    const { key } = await house.createLicense(2);
    const first = await activate(house.url, { licenseKey: key, deviceId: 'mac-0001' });
    expect(first).toMatchObject({ status: 201, body: { seats: { used: 1, max: 2 } } });
    expect(first.deviceToken).toMatch(/^[\w-]{43}$/);
    const rows = JSON.stringify([
      await house.database.db.selectFrom('devices').selectAll().execute(),
      await house.database.db.selectFrom('licenses').selectAll().execute(),
      await house.audit.list({ limit: 100 }),
    ]);
    expect(rows).not.toContain(first.deviceToken);
    expect(rows).not.toContain(key.slice(3, 14));
    expect(rows).not.toContain(key.replaceAll('-', '').slice(2));
  });

  it('M7 activating an active device again takes no second seat, gives a new token and ends the old one', async () => {
    const house = await open();
    const { key } = await house.createLicense(1);
    const first = await activate(house.url, { licenseKey: key, deviceId: 'mac-0001' });
    const mac = await connect(house, first.deviceToken ?? '');
    await mac.register('loc1');
    const again = await activate(house.url, { licenseKey: key.toLowerCase(), deviceId: 'mac-0001' });
    expect(again).toMatchObject({ status: 200, body: { seats: { used: 1, max: 1 } } });
    expect(again.deviceToken).not.toBe(first.deviceToken);
    expect(await mac.closed).toMatchObject({ code: 4000, reason: expect.stringContaining('new token') });
    const old = connectMac(house.url, { token: first.deviceToken ?? '' });
    expect(await refusalOf(old)).toEqual({ status: 401, code: 'UNAUTHORIZED' });
    await (await connect(house, again.deviceToken ?? '')).register('loc1');
  });

  it('M7 unknown, mistyped and revoked keys, suspended licenses and full ones are told apart as WIRE says', async () => {
    const house = await open();
    const [revoked, suspended, full] = [
      await house.createLicense(),
      await house.createLicense(),
      await house.createLicense(1),
    ];
    await house.licenseAdmin.changeLicense(revoked.id, { status: 'revoked' });
    await house.licenseAdmin.changeLicense(suspended.id, { status: 'suspended' });
    await activate(house.url, { licenseKey: full.key });
    const answer = async (licenseKey: string) => {
      const { status, body } = await activate(house.url, { licenseKey });
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

  it('M7 a revoked key, one that never existed and one that cannot exist get the same bytes', async () => {
    const house = await open();
    const elsewhere = await open();
    const revoked = await house.createLicense();
    const unheardOf = await elsewhere.createLicense();
    await house.licenseAdmin.changeLicense(revoked.id, { status: 'revoked' });
    const answers = [];
    for (const licenseKey of [revoked.key, unheardOf.key, 'FB-00000-00000'])
      answers.push((await activate(house.url, { licenseKey })).body);
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });

  it.each([
    ['no body', undefined],
    ['no JSON', '{'],
    ['an array', '[]'],
    ['null', 'null'],
    ['no key', { deviceId: 'mac-0001' }],
    ['a key that is no text', { licenseKey: 7, deviceId: 'mac-0001' }],
    ['a key without end', { licenseKey: 'x'.repeat(201), deviceId: 'mac-0001' }],
    ['no device id', { licenseKey: 'x' }],
    ['a short device id', { licenseKey: 'x', deviceId: 'mac-1' }],
    ['a device id with a space', { licenseKey: 'x', deviceId: 'my mac-0001' }],
    ['a name that is no text', { licenseKey: 'x', deviceId: 'mac-0001', name: {} }],
    ['a version without end', { licenseKey: 'x', deviceId: 'mac-0001', osVersion: 'x'.repeat(129) }],
  ])('M7 an activation with %s is an invalid request', async (_what, body) => {
    const house = await open();
    const response = await fetch(`${house.url}/mac/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: typeof body === 'object' ? JSON.stringify(body) : (body ?? null),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'INVALID_REQUEST', message: expect.any(String) });
  });

  it('M7 odd characters in what a Mac says of itself do no harm', async () => {
    const house = await open();
    const { key } = await house.createLicense();
    const name = 'Front\u0000desk\u001b[31m \ud800 “Ünïcode” 🖥';
    expect(await activate(house.url, { licenseKey: key, name })).toMatchObject({ status: 201 });
    const [device] = await house.licenses.listDevices();
    expect(device?.name).toBe('Front desk [31m \ufffd “Ünïcode” 🖥');
  });

  it('M7 of 40 simultaneous activations for one seat one wins', async () => {
    const house = await open();
    const { key } = await house.createLicense(1);
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => activate(house.url, { licenseKey: key })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(39);
  });

  it('M7 deactivation frees the seat, kills the token and ends the socket', async () => {
    const house = await open();
    const { key } = await house.createLicense(1);
    const token = await tokenOf(house, key);
    const mac = await connect(house, token);
    await mac.register('loc1');
    const deactivate = () =>
      fetch(`${house.url}/mac/deactivate`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      });
    expect((await deactivate()).status).toBe(204);
    expect(await mac.closed).toMatchObject({ code: 4503 });
    expect((await deactivate()).status).toBe(401);
    expect(await refusalOf(connectMac(house.url, { token }))).toEqual({ status: 401, code: 'UNAUTHORIZED' });
    expect(await activate(house.url, { licenseKey: key })).toMatchObject({ status: 201 });
  });

  it('M7 thirty wrong keys lock an address out, good keys included', async () => {
    const house = await open();
    const { key } = await house.createLicense();
    for (let tries = 0; tries < 30; tries++)
      expect(await activate(house.url, { licenseKey: `wrong ${tries}` })).toMatchObject({ status: 403 });
    const locked = await fetch(`${house.url}/mac/activate`, {
      method: 'POST',
      body: JSON.stringify({ licenseKey: key, deviceId: 'mac-0001' }),
    });
    expect(locked.status).toBe(429);
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(30);
    expect(await locked.json()).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
  });

  it('M7 activations are limited per address', async () => {
    const house = await open({ enrolmentPerMinute: 3 });
    const { key } = await house.createLicense();
    const statuses = [];
    for (let tries = 0; tries < 4; tries++)
      statuses.push((await activate(house.url, { licenseKey: key })).status);
    expect(statuses).toEqual([201, 201, 201, 429]);
  });
});

describe('the door', () => {
  it('M7 a Mac with a good token is let in, under the subprotocol and without compression', async () => {
    const { house, license } = await withMacs();
    const token = await tokenOf(house, license.key);
    const response = await upgrade(house.url, {
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
    ['with a token of another form', { Authorization: 'Bearer short' }, 401, 'UNAUTHORIZED'],
    [
      'with a token that was never given out',
      { Authorization: `Bearer ${'A'.repeat(43)}` },
      401,
      'UNAUTHORIZED',
    ],
    ['with basic credentials', { Authorization: 'Basic YTpi' }, 401, 'UNAUTHORIZED'],
    ['under another subprotocol', { 'Sec-WebSocket-Protocol': 'footbridge.v2' }, 426, 'UPGRADE_REQUIRED'],
    ['without a subprotocol', { 'Sec-WebSocket-Protocol': '' }, 426, 'UPGRADE_REQUIRED'],
    ['from a web page', { Origin: 'https://example.com' }, 403, 'FORBIDDEN'],
  ])('M7 a connection %s is refused before the upgrade', async (_how, headers, status, code) => {
    const house = await open();
    const response = await upgrade(house.url, { 'Sec-WebSocket-Protocol': 'footbridge.v1', ...headers });
    expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(JSON.parse(response.split('\r\n\r\n')[1] ?? '')).toMatchObject({
      code,
      error: expect.any(String),
      message: expect.any(String),
    });
    expect(house.gateway.sessions).toBe(0);
  });

  it('M7 a plain GET of the socket path says that it wants an upgrade', async () => {
    const house = await open();
    const response = await fetch(`${house.url}/mac/socket`);
    expect([response.status, await response.json()]).toMatchObject([426, { code: 'UPGRADE_REQUIRED' }]);
  });

  it('M8 a Mac of a suspended license is refused with 403, and let in once it is resumed', async () => {
    const { house, license } = await withMacs();
    const token = await tokenOf(house, license.key);
    await (await connect(house, token)).close();
    await house.licenseAdmin.changeLicense(license.id, { status: 'suspended' });
    const refused = connectMac(house.url, { token });
    expect(await refusalOf(refused)).toEqual({ status: 403, code: 'LICENSE_SUSPENDED' });
    await house.licenseAdmin.changeLicense(license.id, { status: 'active' });
    await (await connect(house, token)).register('loc1');
  });

  it('M7 connection attempts are limited per address', async () => {
    const { house, license } = await withMacs({ attemptsPerMinute: 2 });
    const token = await tokenOf(house, license.key);
    await connect(house, token);
    await connect(house, token);
    expect(await refusalOf(connectMac(house.url, { token }))).toEqual({
      status: 429,
      code: 'TOO_MANY_REQUESTS',
    });
  });

  it('M7 a node that holds as many Macs as it can says so', async () => {
    const { house, license } = await withMacs({ maxSessions: 1 });
    const token = await tokenOf(house, license.key);
    const mac = await connect(house, token);
    expect(await refusalOf(connectMac(house.url, { token }))).toMatchObject({ status: 503 });
    await mac.close();
    await until(() => house.gateway.sessions === 0);
    await connect(house, token);
  });

  it('M7 an address that tries token after token is slowed down, Macs with good ones are not', async () => {
    const { house, license } = await withMacs();
    const token = await tokenOf(house, license.key);
    const attempts = await Promise.all(
      Array.from({ length: 310 }, (_, index) =>
        refusalOf(connectMac(house.url, { token: String(index).padStart(43, 'x') })),
      ),
    );
    expect(attempts.filter(({ status }) => status === 401)).toHaveLength(300);
    expect(attempts.filter(({ status }) => status === 429)).toHaveLength(10);
    await (await connect(house, token)).register('loc1');
  });

  it('M7 a storm of reconnects asks the database for nothing', async () => {
    const { house, license } = await withMacs();
    const tokens: string[] = [];
    for (let index = 0; index < 20; index++) tokens.push(await tokenOf(house, license.key));
    const joinAll = () =>
      Promise.all(
        tokens.map(async (token, index) => {
          const mac = await connect(house, token);
          await mac.register(`loc${index}`);
          return mac;
        }),
      );
    const macs = await joinAll();
    await house.database.close();
    for (const mac of macs) mac.terminate();
    await until(() => house.gateway.sessions === 0);
    await joinAll();
  });
});

describe('registering', () => {
  it('M1 a Mac that registers is bound to its location and learns its window', async () => {
    const { house, join } = await withMacs();
    const mac = await join('loc1');
    expect(mac.frames).toMatchObject([
      { type: 'registered', locationId: 'loc1', window: 64, sessionId: expect.any(String) },
    ]);
    expect(await house.switchboard.boundMacs()).toMatchObject([{ locationId: 'loc1' }]);
  });

  it('M1 a second Mac displaces the first, which is told so and stays away', async () => {
    const { house, join } = await withMacs();
    const [first, second] = [await join('loc1'), await join('loc1')];
    expect(await first.closed).toMatchObject({ code: 4501 });
    expect(await house.send('loc1')).toBe('written');
    await second.nextFrame('send');
    expect(first.frames.filter(({ type }) => type === 'send')).toEqual([]);
  });

  it('M1 the same device resumes: its old socket is closed with 4000 and no Mac is displaced', async () => {
    const { house, license } = await withMacs();
    const token = await tokenOf(house, license.key);
    const old = await connect(house, token);
    await old.register('loc1');
    for (let again = 0; again < 6; again++) await (await connect(house, token)).register('loc1');
    expect(await old.closed).toMatchObject({ code: 4000 });
    expect(house.crm.contended).toEqual([]);
    await until(() => house.gateway.sessions === 1);
  });

  it('M1 Macs that fight for a location are damped: the fifth take-over within a minute waits and the operator is told', async () => {
    const { house, license, join } = await withMacs();
    const [one, two] = [await tokenOf(house, license.key), await tokenOf(house, license.key)];
    await join('loc1');
    const ended = [];
    for (const token of [one, two, one, two, one, one]) {
      const mac = await connect(house, token);
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
    expect(house.crm.contended).toEqual(['loc1', 'loc1']);
    expect(await house.send('loc1')).toBe('written');
  });

  it('M8 the first license that binds a location owns it: Macs of others are refused with 4504', async () => {
    const { house, join } = await withMacs();
    const incumbent = await join('loc1');
    const other = await house.createLicense();
    const mac = await connect(house, await tokenOf(house, other.key));
    await expect(mac.register('loc1')).rejects.toMatchObject({ code: 4504 });
    expect(incumbent.isOpen).toBe(true);
    const next = await connect(house, await tokenOf(house, other.key));
    await next.register('loc2');
  });

  it('M8 with assignment by the operator a location must be assigned first', async () => {
    const { house, license } = await withMacs({ locationClaim: 'operator' });
    const token = await tokenOf(house, license.key);
    const early = await connect(house, token);
    await expect(early.register('loc1')).rejects.toMatchObject({ code: 4504 });
    const [seen] = await house.licenses.listLocations();
    expect(seen).toMatchObject({ locationId: 'loc1', state: 'unassigned' });
    await house.licenseAdmin.assignLocation(location('loc1'), license.id);
    await (await connect(house, token)).register('loc1');
  });

  it('M8 a license suspended between the upgrade and the registration does not get in', async () => {
    const { house, license } = await withMacs();
    const mac = await connect(house, await tokenOf(house, license.key));
    const suspended = house.licenseAdmin.changeLicense(license.id, { status: 'suspended' });
    await expect(mac.register('loc1')).rejects.toMatchObject({ code: 4503 });
    await suspended;
    expect(await house.switchboard.boundMacs()).toEqual([]);
  });

  it('M1 a killed Mac frees its location at once', async () => {
    const { house, join } = await withMacs();
    for (let round = 0; round < 10; round++) {
      const mac = await join('loc1');
      expect(await house.send('loc1')).toBe('written');
      mac.terminate();
      await until(async () => (await house.send('loc1')) === 'not_connected');
    }
    expect(house.crm.contended).toEqual([]);
  });

  it('M1 the Mac that comes last holds the location, however many register at the same moment', async () => {
    const { house, license } = await withMacs();
    const macs = await Promise.all(
      Array.from({ length: 4 }, async () => connect(house, await tokenOf(house, license.key))),
    );
    await Promise.allSettled(macs.map((mac) => mac.register('loc1')));
    await until(() => macs.filter((mac) => mac.isOpen).length === 1);
    expect(await house.send('loc1')).toBe('written');
    await macs.find((mac) => mac.isOpen)?.nextFrame('send');
    expect(await house.switchboard.boundMacs()).toHaveLength(1);
  });

  it('M1 a Mac whose database fails is told to come back, not that it has no business here', async () => {
    const { house, license } = await withMacs();
    const mac = await connect(house, await tokenOf(house, license.key));
    await house.database.close();
    await expect(mac.register('loc1')).rejects.toMatchObject({ code: 1001 });
    const cold = connectMac(house.url, { token: 'A'.repeat(43) });
    expect(await refusalOf(cold)).toEqual({ status: 503, code: 'SERVICE_UNAVAILABLE' });
  });
});

describe('the operator acts on live sockets', () => {
  it('M8 suspending a license closes its Macs with 4503 and no others', async () => {
    const { house, license, join } = await withMacs();
    const macs = [await join('loc1'), await join('loc2')];
    const other = await house.createLicense();
    const bystander = await connect(house, await tokenOf(house, other.key));
    await bystander.register('loc3');
    await house.licenseAdmin.changeLicense(license.id, { status: 'suspended' });
    for (const mac of macs) expect(await mac.closed).toMatchObject({ code: 4503 });
    expect(await house.send('loc1')).toBe('not_connected');
    expect(await house.send('loc3')).toBe('written');
  });

  it('M8 revoking a device closes its Mac with 4503; its token and its activation are dead until it is restored', async () => {
    const { house, license } = await withMacs();
    const deviceId = 'mac-0001';
    const token = await tokenOf(house, license.key, deviceId);
    const mac = await connect(house, token);
    await mac.register('loc1');
    const [device] = await house.licenses.listDevices();
    await house.licenseAdmin.revokeDevice(device?.id ?? '');
    expect(await mac.closed).toMatchObject({ code: 4503 });
    expect(await refusalOf(connectMac(house.url, { token }))).toMatchObject({ status: 401 });
    const again = () => activate(house.url, { licenseKey: license.key, deviceId });
    expect(await again()).toMatchObject({ status: 403, body: { code: 'LICENSE_INVALID' } });
    await house.licenseAdmin.restoreDevice(device?.id ?? '');
    expect(await again()).toMatchObject({ status: 201 });
  });

  it('M8 a location that is reassigned or unassigned loses its Mac with 4504', async () => {
    const { house, join } = await withMacs();
    const [given, released, kept] = [await join('loc1'), await join('loc2'), await join('loc3')];
    const other = await house.createLicense();
    await house.licenseAdmin.assignLocation(location('loc1'), other.id);
    await house.licenseAdmin.assignLocation(location('loc2'), null);
    expect(await given.closed).toMatchObject({ code: 4504 });
    expect(await released.closed).toMatchObject({ code: 4504 });
    const successor = await connect(house, await tokenOf(house, other.key));
    await successor.register('loc1');
    expect(kept.isOpen).toBe(true);
  });

  it('M8 a Mac disconnected by the operator is told so and may come back', async () => {
    const { house, license } = await withMacs();
    const token = await tokenOf(house, license.key);
    const mac = await connect(house, token);
    await mac.register('loc1');
    await house.licenseAdmin.disconnectLocation(location('loc1'));
    expect(await mac.closed).toEqual({ code: 4000, reason: 'disconnected by the operator' });
    await (await connect(house, token)).register('loc1');
  });

  it('M8 what the operator does on one node acts on the sockets of another within 5 seconds', async () => {
    const clock = new SkippingClock();
    const here = await open();
    const there = await open({ database: here.database, clock });
    const license = await here.createLicense();
    const inTime = async (mac: Mac) => {
      await clock.skip(4000);
      return (await mac.closed).code;
    };
    const join = async (locationId: string) => {
      const mac = await connect(there, await tokenOf(there, license.key));
      await mac.register(locationId);
      return mac;
    };
    const [revoked, moved, suspended] = [await join('loc1'), await join('loc2'), await join('loc3')];
    // `here` announces in memory only; the row is what the other node reads.
    const tell = async (topic: string, subject: string) =>
      here.database.db.insertInto('changes').values({ topic, subject, at: Date.now() }).execute();
    const [device] = await here.licenses.listDevices();
    await here.licenses.revokeDevice(device?.id ?? '');
    await tell('device', device?.id ?? '');
    expect(await inTime(revoked)).toBe(4503);
    await here.licenses.assign(location('loc2'), null);
    await tell('location', 'loc2');
    expect(await inTime(moved)).toBe(4504);
    await here.licenses.changeLicense(license.id, { status: 'suspended' });
    await tell('license', license.id);
    expect(await inTime(suspended)).toBe(4503);
  });

  it('M8 what the operator does is in the audit trail, newest first and without secrets', async () => {
    const { house, license } = await withMacs();
    await house.licenseAdmin.changeLicense(license.id, { status: 'suspended' });
    await house.licenseAdmin.assignLocation(location('loc1'), license.id);
    const entries = await house.audit.list({ limit: 10 });
    expect(entries.map(({ actor, action, target }) => `${actor} ${action} ${target}`)).toEqual([
      'operator location.assigned loc1',
      `operator license.changed ${license.id}`,
      `operator license.created ${license.id}`,
    ]);
    expect(JSON.stringify(entries)).not.toContain(license.key.slice(3, 14));
  });
});

/** An upgrade by hand: the raw answer. */
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
