import { silentLog } from '@footbridge/testkit/silent-log';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Topic } from '../../platform/changes/changes.ts';
import type { Standing } from './devices-sql.ts';
import { hashSecret, newDeviceToken } from './secret-hash.ts';
import { nextTurn } from '../../platform/batcher.ts';
import { DeviceAuth } from './authenticate-device.ts';

/** A store that can be slow or unavailable, and counts its queries. */
class Store {
  readonly rows = new Map<string, Standing>();
  queries = 0;
  keys = 0;
  down = false;
  slow: Promise<void> | undefined;

  add(token: string, more: Partial<Standing> = {}): Standing {
    const standing: Standing = {
      deviceRow: `dev_${this.rows.size}`,
      deviceId: `mac-${this.rows.size}`,
      licenseId: 'lic_1',
      onlyLocation: null,
      tokenHash: hashSecret(token),
      osVersion: '26.1',
      appVersion: '1.0.0',
      device: 'active',
      license: 'active',
      ...more,
    };
    this.rows.set(standing.deviceRow, standing);
    return standing;
  }

  change(row: string, more: Partial<Standing>): void {
    const standing = this.rows.get(row);
    if (standing !== undefined) this.rows.set(row, { ...standing, ...more });
  }

  standingsByToken(hashes: readonly string[]): Promise<Map<string, Standing>> {
    return this.#find(({ tokenHash }) => tokenHash, hashes);
  }

  standingsByRow(rows: readonly string[]): Promise<Map<string, Standing>> {
    return this.#find(({ deviceRow }) => deviceRow, rows);
  }

  async #find(by: (standing: Standing) => string, keys: readonly string[]): Promise<Map<string, Standing>> {
    this.queries++;
    this.keys += keys.length;
    const now = [...this.rows.values()];
    await this.slow;
    if (this.down) throw new Error('the database is unavailable');
    return new Map(now.filter((standing) => keys.includes(by(standing))).map((one) => [by(one), one]));
  }
}

describe('DeviceAuth', () => {
  let store: Store;
  let clock: FakeClock;
  let deviceAuth: DeviceAuth;
  let listeners: Map<Topic, (subject: string) => void>;
  const notify = (topic: Topic, subject: string) => listeners.get(topic)?.(subject);

  beforeEach(() => {
    store = new Store();
    clock = new FakeClock();
    listeners = new Map();
    const changes = {
      listen(topic: Topic, listener: (subject: string) => void) {
        listeners.set(topic, listener);
        return () => listeners.delete(topic);
      },
    };
    deviceAuth = new DeviceAuth({ devices: store, changes, clock, log: silentLog });
  });
  afterEach(() => deviceAuth.close());

  it('M7 queries a valid token once and then caches it, and never caches an invalid one', async () => {
    const token = newDeviceToken();
    store.add(token);
    const device = await deviceAuth.authenticate(token);
    expect(device).toMatchObject({ deviceRow: 'dev_0', status: 'active' });
    expect(await deviceAuth.authenticate(token)).toBe(device);
    expect(store.queries).toBe(1);
    for (let again = 0; again < 2; again++)
      expect(await deviceAuth.authenticate(newDeviceToken())).toBeUndefined();
    expect(store.queries).toBe(3);
    expect(await deviceAuth.authenticate('not a token')).toBeUndefined();
    expect(await deviceAuth.authenticate('')).toBeUndefined();
    expect(store.queries).toBe(3);
  });

  it('M7 authenticates 300 uncached Macs with two queries', async () => {
    const tokens = Array.from({ length: 300 }, () => newDeviceToken());
    for (const token of tokens) store.add(token);
    const devices = await Promise.all(tokens.map(async (token) => deviceAuth.authenticate(token)));
    expect(devices.every((device) => device?.status === 'active')).toBe(true);
    expect(store.queries).toBe(2);
  });

  it.each<[string, Partial<Standing>, string]>([
    ['a suspended license', { license: 'suspended' }, 'suspended'],
    ['a revoked license', { license: 'revoked' }, 'inactive'],
    ['a revoked device', { device: 'revoked' }, 'inactive'],
    ['a deactivated device', { device: 'deactivated' }, 'inactive'],
  ])('M8 returns the status of %s and does not cache the token', async (_case, more, status) => {
    const token = newDeviceToken();
    const { deviceRow } = store.add(token, more);
    expect(await deviceAuth.authenticate(token)).toMatchObject({ status });
    store.change(deviceRow, { license: 'active', device: 'active' });
    expect(await deviceAuth.authenticate(token)).toMatchObject({ status: 'active' });
  });

  it.each<[string, Topic, string, Partial<Standing>, string]>([
    ['its license is suspended', 'license', 'lic_1', { license: 'suspended' }, 'suspended'],
    ['its license is revoked', 'license', 'lic_1', { license: 'revoked' }, 'inactive'],
    ['the device is revoked', 'device', 'dev_0', { device: 'revoked' }, 'inactive'],
    ['it was activated again', 'device', 'dev_0', { tokenHash: hashSecret('another') }, 'replaced'],
    ['everything may have changed', 'device', '*', { device: 'revoked' }, 'inactive'],
  ])('M8 updates the shared identity when %s', async (_case, topic, subject, more, status) => {
    const token = newDeviceToken();
    store.add(token);
    const device = (await deviceAuth.authenticate(token)) ?? expect.fail('unknown');
    deviceAuth.retain(device);
    let notified = 0;
    deviceAuth.onStatusChange(() => notified++);
    store.change('dev_0', more);
    notify(topic, subject);
    expect(await deviceAuth.confirm(device)).toBe(status);
    await nextTurn();
    expect([device.status, notified]).toEqual([status, 1]);
    expect((await deviceAuth.authenticate(token))?.status).not.toBe('active');
  });

  it('M8 ignores change notices for other devices, without a query', async () => {
    const token = newDeviceToken();
    store.add(token);
    const device = await deviceAuth.authenticate(token);
    notify('license', 'lic_2');
    notify('device', 'dev_7');
    expect(await deviceAuth.authenticate(token)).toBe(device);
    await nextTurn();
    expect(store.queries).toBe(1);
  });

  it('M8 repeats a query when a change notice arrives during it', async () => {
    const token = newDeviceToken();
    store.add(token);
    const { promise, resolve } = Promise.withResolvers<void>();
    store.slow = promise;
    const pending = deviceAuth.authenticate(token);
    await nextTurn();
    await nextTurn();
    store.change('dev_0', { device: 'revoked' });
    notify('device', 'dev_0');
    store.slow = undefined;
    resolve();
    expect(await pending).toMatchObject({ status: 'inactive' });
  });

  it('M8 checks a change notice that arrives while an earlier one is checked', async () => {
    const token = newDeviceToken();
    store.add(token);
    const device = (await deviceAuth.authenticate(token)) ?? expect.fail('unknown');
    const { promise, resolve } = Promise.withResolvers<void>();
    store.slow = promise;
    notify('license', 'lic_1');
    await nextTurn();
    store.change('dev_0', { license: 'suspended' });
    notify('license', 'lic_1');
    store.slow = undefined;
    resolve();
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(device.status).toBe('suspended');
  });

  it('M8 keeps devices connected while the database is unavailable, and checks the notices afterwards', async () => {
    const token = newDeviceToken();
    store.add(token);
    const device = (await deviceAuth.authenticate(token)) ?? expect.fail('unknown');
    store.down = true;
    store.change('dev_0', { device: 'revoked' });
    notify('device', 'dev_0');
    await clock.advance(5000);
    expect(device.status).toBe('active');
    await expect(deviceAuth.authenticate(token)).rejects.toThrow(/unavailable/);
    store.down = false;
    await clock.advance(1000);
    expect(device.status).toBe('inactive');
  });

  it('M8 finds a change without a notice within five minutes', async () => {
    const tokens = Array.from({ length: 150 }, () => newDeviceToken());
    for (const token of tokens) store.add(token);
    const devices = await Promise.all(tokens.map(async (token) => deviceAuth.authenticate(token)));
    for (const device of devices) if (device !== undefined) deviceAuth.retain(device);
    store.change('dev_77', { device: 'revoked' });
    let notified = 0;
    deviceAuth.onStatusChange(() => notified++);
    store.keys = 0;
    await clock.advance(305_000);
    expect(
      devices.filter((device) => device?.status === 'inactive').map((device) => device?.deviceRow),
    ).toEqual(['dev_77']);
    expect(notified).toBe(1);
    expect(store.keys).toBeLessThan(320);
  });

  it('M7 caches a disconnected Mac for ten minutes, and a connected one without limit', async () => {
    const [connected, disconnected] = [newDeviceToken(), newDeviceToken()];
    for (const token of [connected, disconnected]) {
      store.add(token);
      const device = await deviceAuth.authenticate(token);
      if (device !== undefined) deviceAuth.retain(device);
    }
    const former = await deviceAuth.authenticate(disconnected);
    if (former !== undefined) deviceAuth.release(former);
    await clock.advance(590_000);
    expect(await deviceAuth.authenticate(disconnected)).toBe(former);
    await clock.advance(200_000);
    const { queries } = store;
    expect(await deviceAuth.authenticate(connected)).toMatchObject({ deviceRow: 'dev_0' });
    expect(store.queries).toBe(queries);
    expect(await deviceAuth.authenticate(disconnected)).toMatchObject({ deviceRow: 'dev_1' });
    expect(store.queries).toBe(queries + 1);
  });
});
