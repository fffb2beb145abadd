import { activate } from '@footbridge/testkit/mac';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { LOCATION, bridges } from './test-bridge.ts';
import type { TestBridgeOptions } from './test-bridge.ts';

const start = bridges();

async function open(options: TestBridgeOptions = {}) {
  const bridge = await start(options);
  const join = async (licenseKey: string, locationId: string, deviceId?: string) => {
    const mac = await bridge.connect({ token: await bridge.token(deviceId, licenseKey) });
    await mac.register(locationId);
    return mac;
  };
  return { bridge, join };
}

const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('operator: licenses', () => {
  it('M7 a license is created with a key that is shown once and works', async () => {
    const { bridge } = await open();
    const created = await bridge.operator('POST', '/operator/licenses', { label: ' Office ', maxSeats: 2 });
    expect(created).toEqual({
      status: 201,
      body: {
        id: expect.stringMatching(/^lic_/),
        key: expect.stringMatching(/^FB(-\w{5}){6}$/),
        label: 'Office',
        maxSeats: 2,
      },
    });
    const { id, key } = created.body as { id: string; key: string };
    await activate(bridge.url, { licenseKey: key });
    const list = await bridge.operator('GET', '/operator/licenses');
    expect(list).toEqual({
      status: 200,
      body: {
        licenses: [
          {
            id,
            label: 'Office',
            keyHint: key.slice(-5),
            status: 'active',
            maxSeats: 2,
            seats: { used: 1, max: 2 },
            createdAt: ISO,
            updatedAt: ISO,
          },
        ],
      },
    });
    expect(JSON.stringify(list)).not.toContain(key);
  });

  it('M8 a license is suspended, resumed, renamed, given seats and revoked for good', async () => {
    const { bridge } = await open();
    const { id } = await bridge.createLicense(1);
    const patch = (body: unknown) => bridge.operator('PATCH', `/operator/licenses/${id}`, body);
    expect(await patch({ status: 'suspended' })).toMatchObject({
      status: 200,
      body: { status: 'suspended' },
    });
    expect(await patch({ status: 'active', label: 'Shop', maxSeats: 3 })).toMatchObject({
      status: 200,
      body: { status: 'active', label: 'Shop', maxSeats: 3 },
    });
    expect(await patch({ status: 'revoked' })).toMatchObject({ status: 200 });
    expect(await patch({ status: 'active' })).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', message: expect.stringContaining('revoked cannot become active') },
    });
  });

  it('M7 a license cannot have fewer seats than active devices', async () => {
    const { bridge } = await open();
    const { id, key } = await bridge.createLicense(2);
    for (let count = 0; count < 2; count++) await activate(bridge.url, { licenseKey: key });
    expect(await bridge.operator('PATCH', `/operator/licenses/${id}`, { maxSeats: 1 })).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', message: expect.stringContaining('2 seats are in use') },
    });
  });

  it.each([
    ['no label', { maxSeats: 1 }, /^label/],
    ['a blank label', { label: '  ', maxSeats: 1 }, /^label: must be a text that is not blank/],
    [
      'a label with a control character',
      { label: 'a\u001b[0m', maxSeats: 1 },
      /^label: must be a text .* control characters/,
    ],
    ['no seats', { label: 'x', maxSeats: 0 }, /^maxSeats: must be at least 1/],
    ['a fraction of a seat', { label: 'x', maxSeats: 1.5 }, /^maxSeats: must be an integer/],
    ['seats as text', { label: 'x', maxSeats: '1' }, /^maxSeats/],
    ['another field', { label: 'x', maxSeats: 1, key: 'mine' }, /key/],
    ['no object', [], /^The body/],
  ])('M7 a license with %s is rejected with the name of the field', async (_what, body, message) => {
    const bridge = await start();
    const answer = await bridge.operator('POST', '/operator/licenses', body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
    expect(answer.body['message']).toMatch(message);
  });

  it('M8 rejects empty changes, changes of unknown ids and invalid values', async () => {
    const { bridge } = await open();
    const { id } = await bridge.createLicense();
    const patch = (to: string, body: unknown) => bridge.operator('PATCH', `/operator/licenses/${to}`, body);
    expect((await patch(id, {})).status).toBe(400);
    expect((await patch(id, { status: 'gone' })).body['message']).toMatch(
      /^status: must be one of active, suspended/,
    );
    expect((await patch('lic_none', { label: 'x' })).body).toMatchObject({ code: 'NOT_FOUND' });
    expect((await patch('%00', { label: 'x' })).status).toBe(404);
  });
});

describe('operator: devices', () => {
  it('M7 devices are listed with their license, versions, connection and last-seen time, without tokens', async () => {
    const { bridge, join } = await open();
    const { id: licenseId, key } = await bridge.createLicense(2);
    await join(key, 'loc1', 'mac-0001');
    const { deviceToken } = await activate(bridge.url, {
      licenseKey: key,
      deviceId: 'mac-0002',
      name: 'Back office',
    });
    const { status, body } = await bridge.operator('GET', '/operator/devices');
    const common = {
      takeOvers: 0,
      alternating: false,
      licenseId,
      license: 'Test',
      osVersion: '26.1',
      appVersion: '0.1.0',
      status: 'active',
    };
    const times = { id: expect.stringMatching(/^dev_/), activatedAt: ISO, lastSeenAt: ISO };
    expect([status, body['devices']]).toEqual([
      200,
      [
        {
          ...common,
          ...times,
          deviceId: 'mac-0001',
          name: 'Test Mac',
          connected: true,
          locations: ['loc1'],
        },
        {
          ...common,
          ...times,
          deviceId: 'mac-0002',
          name: 'Back office',
          connected: false,
          locations: [],
        },
      ],
    ]);
    expect(JSON.stringify(body)).not.toContain(deviceToken);
  });

  it('M8 a device is revoked, which ends its socket and frees its seat, and can be restored', async () => {
    const { bridge, join } = await open();
    const { key } = await bridge.createLicense(1);
    const mac = await join(key, 'loc1', 'mac-0001');
    const { body } = await bridge.operator('GET', '/operator/devices');
    const [device] = body['devices'] as { id: string }[];
    const post = (what: string) => bridge.operator('POST', `/operator/devices/${device?.id}/${what}`);
    expect(await post('revoke')).toMatchObject({
      status: 200,
      body: { status: 'revoked', connected: false },
    });
    expect(await mac.closed).toMatchObject({ code: 4503 });
    expect(await activate(bridge.url, { licenseKey: key, deviceId: 'mac-0002' })).toMatchObject({
      status: 201,
    });
    expect(await post('restore')).toMatchObject({ status: 200, body: { status: 'deactivated' } });
    expect(await bridge.operator('POST', '/operator/devices/dev_none/revoke')).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
  });
});

describe('operator: locations', () => {
  it('M8 locations are listed with their license, connected Mac, last device and OAuth state', async () => {
    const { bridge, join } = await open();
    await bridge.authorise('locOfNoMac');
    const { id: licenseId, key } = await bridge.createLicense();
    await join(key, LOCATION, 'mac-0001');
    (await join(key, 'loc2', 'mac-0002')).terminate();
    await until(async () => (await bridge.metric('footbridge_macs_bound')) === 1);
    const { body } = await bridge.operator('GET', '/operator/locations');
    const grant = { state: 'active', expiresAt: ISO, lastError: null };
    const owned = { state: 'bound', licenseId, license: 'Test', claimed: true };
    const device = (deviceId: string) => ({
      id: expect.any(String),
      deviceId,
      name: 'Test Mac',
      lastSeenAt: ISO,
    });
    expect(body['locations']).toEqual([
      {
        ...owned,
        locationId: 'loc2',
        connected: null,
        lastDevice: device('mac-0002'),
        oauth: null,
        liveness: {
          state: 'dead',
          reason: { kind: 'mac_offline', sentence: expect.stringContaining('not connected'), since: ISO },
        },
      },
      {
        ...owned,
        locationId: LOCATION,
        connected: {
          deviceId: 'mac-0001',
          name: 'Test Mac',
          since: ISO,
          node: expect.stringMatching(/^[0-9a-f-]{36}$/),
          epoch: expect.any(Number),
          state: null,
        },
        lastDevice: device('mac-0001'),
        oauth: grant,
        liveness: { state: 'alive', reason: null },
      },
      {
        locationId: 'locOfNoMac',
        state: 'unassigned',
        licenseId: null,
        claimed: false,
        license: null,
        connected: null,
        lastDevice: null,
        oauth: grant,
        liveness: null,
      },
    ]);
  });

  it('M8 a connected location shows the newest state of its Mac, until the Mac leaves', async () => {
    const { bridge, join } = await open();
    const { key } = await bridge.createLicense();
    const mac = await join(key, 'loc1', 'mac-0001');
    const connected = async () => {
      const { body } = await bridge.operator('GET', '/operator/locations');
      return (body['locations'] as { connected: { state: unknown } | null }[])[0]?.connected;
    };
    const state = {
      capabilities: ['text'],
      macos: { version: '26.1', build: '25B78' },
      permissions: { fullDisk: 'granted', automation: 'denied', accessibility: 'unknown' },
      messages: { running: true, signedIn: true, services: ['iMessage'] },
      session: 'active',
      queue: { pending: 2, oldestSec: 7 },
      lastSentAt: '2026-11-15T12:00:00.000Z',
      lastReceivedAt: null,
    };
    mac.send({ type: 'state', ...state, later: { text: 'SECRET' } });
    await mac.roundTrip();
    expect((await connected())?.state).toEqual({ at: ISO, ...state });
    mac.send({ type: 'state' });
    await mac.roundTrip();
    expect((await connected())?.state).toEqual({
      at: ISO,
      capabilities: [],
      lastSentAt: null,
      lastReceivedAt: null,
    });
    mac.terminate();
    await until(async () => (await connected()) === null);
    await join(key, 'loc1', 'mac-0001');
    expect((await connected())?.state).toBeNull();
    expect(bridge.log).not.toContain('SECRET');
  });

  it('M8 a location is assigned, reassigned and released, which disconnects its Mac', async () => {
    const { bridge, join } = await open({ env: { LOCATION_CLAIM: 'operator' } });
    const [one, two] = [await bridge.createLicense(), await bridge.createLicense()];
    const put = (licenseId: unknown) => bridge.operator('PUT', '/operator/locations/loc1', { licenseId });
    expect(await put(one.id)).toMatchObject({ status: 200, body: { state: 'bound', licenseId: one.id } });
    const mac = await join(one.key, 'loc1');
    expect(await put(two.id)).toMatchObject({ status: 200, body: { licenseId: two.id } });
    expect(await mac.closed).toMatchObject({ code: 4504 });
    const next = await join(two.key, 'loc1');
    expect(await put(null)).toMatchObject({ status: 200, body: { state: 'released', licenseId: null } });
    expect(await next.closed).toMatchObject({ code: 4504 });
    for (const nonsense of ['lic_none', 7, undefined, '\u0000'])
      expect(await put(nonsense)).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
  });

  it('M8 a location is deleted; one in use only when that is confirmed, with its Mac and its tokens', async () => {
    const { bridge, join } = await open({ env: { LOCATION_CLAIM: 'operator' } });
    const { id, key } = await bridge.createLicense();
    const remove = (locationId: string, query = '') =>
      bridge.operator('DELETE', `/operator/locations/${locationId}${query}`);
    const listed = async () => {
      const { body } = await bridge.operator('GET', '/operator/locations');
      return (body['locations'] as { locationId: string }[]).map(({ locationId }) => locationId);
    };
    const stranger = await bridge.connect({ token: await bridge.token('mac-0002', key) });
    await stranger.register('mistyped').catch(() => {});
    expect(await listed()).toEqual([LOCATION, 'mistyped']);
    expect(await remove('mistyped')).toEqual({ status: 204, body: {} });
    expect(await remove('mistyped')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });

    await bridge.operator('PUT', `/operator/locations/${LOCATION}`, { licenseId: id });
    const mac = await join(key, LOCATION);
    const refused = await remove(LOCATION);
    expect(refused).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    expect(refused.body['message']).toContain('belongs to “Test” and has tokens of the CRM');
    expect(await bridge.reaches(LOCATION)).toBe(true);
    for (const nonsense of ['?confirmed=yes', '?confirmed=', '?force=true'])
      expect((await remove(LOCATION, nonsense)).status).not.toBe(204);
    expect(await remove(LOCATION, '?confirmed=true')).toEqual({ status: 204, body: {} });
    expect(await mac.closed).toMatchObject({ code: 4504 });
    expect(await listed()).toEqual([]);
    expect((await bridge.operator('GET', '/operator/grants')).body['grants']).toEqual([]);
    const { body } = await bridge.operator('GET', '/operator/audit');
    const entries = body['entries'] as { action: string }[];
    expect(entries.filter(({ action }) => action.startsWith('location.'))).toMatchObject([
      { action: 'location.deleted', target: LOCATION, detail: { from: id, hasTokens: true } },
      { action: 'location.released', target: LOCATION },
      { action: 'location.assigned', target: LOCATION },
      { action: 'location.deleted', target: 'mistyped', detail: { from: null, hasTokens: false } },
    ]);
  });

  it('M8 a location is disconnected, also one with an unusual id', async () => {
    const { bridge, join } = await open();
    const { key } = await bridge.createLicense();
    const odd = 'loc/1 ?#☃';
    const mac = await join(key, odd);
    const disconnect = (id: string) =>
      bridge.operator('POST', `/operator/locations/${encodeURIComponent(id)}/disconnect`);
    expect(await disconnect(odd)).toEqual({ status: 200, body: { locationId: odd, wasConnected: true } });
    expect(await mac.closed).toMatchObject({ code: 4000 });
    expect(await disconnect(odd)).toMatchObject({ status: 200, body: { wasConnected: false } });
    expect(await disconnect('nowhere')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    expect(await disconnect('a\u0000')).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } });
  });
});
