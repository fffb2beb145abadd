import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import type { TimedPage } from '../../platform/timed-page.ts';
import { createAccountTables } from './account-tables-sql.ts';
import { DESCRIPTION, deviceId, onAccounts, rowOf, walk } from './accounts.fixture.ts';
import { activationsPerDay, KEPT_PER_SEAT } from './devices-sql.ts';
import type { DeviceDetails } from './devices-sql.ts';
import { hashSecret, newDeviceToken } from './secret-hash.ts';
import { DEVICE_TRANSITIONS, mayBecome } from './transitions.ts';

onAccounts('devices', (accounts, openDatabase) => {
  const { here, other, node, create, activate, licenseNow } = accounts;

  it('M7 the pages have each device once, in order, even after one is deleted', async () => {
    const { keyHash } = await create(9);
    for (let count = 0; count < 5; count++) {
      if (count % 2 === 0) await accounts.passTime(1000);
      await activate(keyHash, `mac-000${count}`);
    }
    const placeOf = ({ activatedAt: at, id }: DeviceDetails) => ({ at, id });
    const all = await other().devices.list({ limit: 100 });
    expect(all).toHaveLength(5);
    expect(await walk((page) => other().devices.list(page), placeOf)).toEqual(all);
    const [first] = all;
    expect(await other().devices.find(first?.id ?? '')).toEqual(first);
    expect(await other().devices.find('dev_none')).toBeUndefined();
    const deleted = { at: accounts.now() - 1, id: 'dev_deleted' };
    expect(await other().devices.list({ limit: 100, after: deleted })).toEqual(all.slice(4));
  });

  it('M7 takes one seat per device, and no second one when it activates again', async () => {
    const { license, keyHash } = await create(2);
    const [first, second] = [hashSecret('token 1'), hashSecret('token 2')];
    const fresh = await activate(keyHash, 'mac-0001', first);
    expect(fresh).toMatchObject({ kind: 'activated', again: false, seats: { used: 1, max: 2 } });
    const again = await activate(keyHash, 'mac-0001', second);
    expect(again).toMatchObject({ kind: 'activated', again: true, seats: { used: 1, max: 2 } });
    expect(rowOf(again)).toBe(rowOf(fresh));
    expect((await licenseNow(license.id)).seats).toEqual({ used: 1, max: 2 });
    const standings = await other().devices.standingsByToken([first, second]);
    expect([...standings.keys()]).toEqual([second]);
  });

  it('M7 rejects a device without a free seat, and a deactivation frees one', async () => {
    const { license, keyHash } = await create(1);
    const token = hashSecret(newDeviceToken());
    const first = await activate(keyHash, 'mac-0001', token);
    expect(await activate(keyHash, 'mac-0002')).toEqual({
      kind: 'exhausted',
      licenseId: license.id,
      seats: { used: 1, max: 1 },
    });
    expect(await other().devices.deactivate(token)).toMatchObject({ deviceRow: rowOf(first) });
    expect(await other().devices.deactivate(token)).toBeUndefined();
    expect(await activate(keyHash, 'mac-0002')).toMatchObject({ kind: 'activated', seats: { used: 1 } });
    expect(await activate(keyHash, 'mac-0001')).toMatchObject({ kind: 'exhausted' });
  });

  it('M7 lets one of 40 simultaneous activations take the only seat', async () => {
    for (let round = 0; round < 5; round++) {
      const { license, keyHash } = await create(1);
      const outcomes = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          node(index).devices.activate({
            keyHash,
            deviceId: deviceId(`mac-race-${round}-${index}`),
            tokenHash: hashSecret(newDeviceToken()),
            ...DESCRIPTION,
          }),
        ),
      );
      expect(outcomes.filter(({ kind }) => kind === 'activated')).toHaveLength(1);
      expect(outcomes.filter(({ kind }) => kind === 'exhausted')).toHaveLength(39);
      expect((await licenseNow(license.id)).seats).toEqual({ used: 1, max: 1 });
    }
  });

  it('M7 takes one seat when a device activates several times simultaneously', async () => {
    const { license, keyHash } = await create(5);
    const tokens = Array.from({ length: 10 }, (_, index) => hashSecret(`token ${index}`));
    const outcomes = await Promise.all(
      tokens.map((tokenHash, index) =>
        node(index).devices.activate({
          keyHash,
          deviceId: deviceId('mac-0001'),
          tokenHash,
          ...DESCRIPTION,
        }),
      ),
    );
    expect(new Set(outcomes.map(rowOf)).size).toBe(1);
    expect((await licenseNow(license.id)).seats.used).toBe(1);
    expect((await other().devices.standingsByToken(tokens)).size).toBe(1);
  });

  it('M7 a license never exceeds its seats under load, and leaks none', async () => {
    const { license, keyHash } = await create(3);
    const checkSeats = async () => expect((await licenseNow(license.id)).seats.used).toBeLessThanOrEqual(3);
    await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const { devices } = node(index);
        for (let turn = 0; turn < 5; turn++) {
          const tokenHash = hashSecret(newDeviceToken());
          const id = deviceId(`mac-load-${index}`);
          await devices.activate({ keyHash, deviceId: id, tokenHash, ...DESCRIPTION });
          await checkSeats();
          await devices.deactivate(tokenHash);
        }
      }),
    );
    expect((await licenseNow(license.id)).seats).toEqual({ used: 0, max: 3 });
    for (const device of ['mac-0001', 'mac-0002', 'mac-0003'])
      expect(await activate(keyHash, device)).toMatchObject({ kind: 'activated' });
    expect(await activate(keyHash, 'mac-0004')).toMatchObject({ kind: 'exhausted' });
  });

  it('M7 keeps the newest deactivated devices per seat, and all revoked ones', async () => {
    const { license, keyHash } = await create(2);
    const revoked = rowOf(await activate(keyHash, 'mac-revoked'));
    await here().devices.revoke(revoked);
    const count = 2 * KEPT_PER_SEAT + 5;
    for (let index = 0; index < count; index++) {
      await accounts.passTime(1);
      const tokenHash = hashSecret(newDeviceToken());
      await activate(keyHash, `mac-given-up-${index}`, tokenHash);
      await other().devices.deactivate(tokenHash);
    }
    await activate(keyHash, 'mac-0001');
    const own = (await other().devices.list({ limit: 1000 })).filter(
      ({ licenseId }) => licenseId === license.id,
    );
    const ids = own.map(({ deviceId: id }) => id);
    expect(ids).toHaveLength(2 * KEPT_PER_SEAT + 2);
    expect(ids).toEqual(expect.arrayContaining(['mac-revoked', 'mac-0001', `mac-given-up-${count - 1}`]));
    expect(ids).not.toContain('mac-given-up-0');
  });

  it('M7 bounds the activations of a license per day, including those of an active device', async () => {
    const [{ license, keyHash }, unused] = [await create(1), await create(1)];
    const max = activationsPerDay(1);
    for (let count = 0; count < max; count++)
      expect(await activate(keyHash, 'mac-0001')).toMatchObject({ kind: 'activated' });
    const refused = await node(1).devices.activate({
      keyHash,
      deviceId: deviceId('mac-0001'),
      tokenHash: hashSecret(newDeviceToken()),
      ...DESCRIPTION,
    });
    expect(refused).toEqual({ kind: 'too_many', max, retryAfterSec: expect.any(Number) });
    expect(await activate(unused.keyHash, 'mac-0001')).toMatchObject({ kind: 'activated' });
    expect((await licenseNow(license.id)).seats.used).toBe(1);
    const waitSec = refused.kind === 'too_many' ? refused.retryAfterSec : 0;
    await accounts.passTime(waitSec * 1000);
    expect(await activate(keyHash, 'mac-0001')).toMatchObject({ kind: 'activated' });
  });

  it('M7 treats the same deviceId under two licenses as two devices', async () => {
    const [one, two] = [await create(1), await create(1)];
    const rows = [await activate(one.keyHash, 'mac-0001'), await activate(two.keyHash, 'mac-0001')];
    expect(new Set(rows.map(rowOf)).size).toBe(2);
  });

  const STATES = ['active', 'deactivated', 'revoked'] as const;
  const reach = async (status: (typeof STATES)[number]) => {
    const { keyHash } = await create(1);
    const token = hashSecret(newDeviceToken());
    const row = rowOf(await activate(keyHash, 'mac-0001', token));
    if (status === 'deactivated') await here().devices.deactivate(token);
    if (status === 'revoked') await here().devices.revoke(row);
    return { row, keyHash, token };
  };

  for (const from of STATES) {
    it(`M8 revokes a device that is ${from}, which frees its seat and invalidates its token`, async () => {
      const { row, keyHash, token } = await reach(from);
      expect(await other().devices.revoke(row)).toMatchObject({
        kind: 'changed',
        device: { status: 'revoked' },
      });
      expect(await other().devices.deactivate(token)).toBeUndefined();
      expect((await other().devices.standingsByToken([token])).get(token)?.device).toBe('revoked');
      expect(await activate(keyHash, 'mac-0001')).toEqual({ kind: 'device_revoked' });
      expect(await activate(keyHash, 'mac-0002')).toMatchObject({ kind: 'activated' });
    });
  }

  it('M8 restores a revoked device, which then activates like a new one', async () => {
    const { row, keyHash } = await reach('revoked');
    expect(await other().devices.restore(row)).toMatchObject({ device: { status: 'deactivated' } });
    expect(await activate(keyHash, 'mac-0001')).toMatchObject({ kind: 'activated', again: false });
    expect(await other().devices.restore(row)).toEqual({
      kind: 'impossible',
      from: 'active',
      to: 'deactivated',
    });
    expect(mayBecome(DEVICE_TRANSITIONS, 'revoked', 'active')).toBe(false);
  });

  it('M8 reports a device that does not exist as not found', async () => {
    expect(await here().devices.revoke('dev_none')).toEqual({ kind: 'not_found' });
    expect(await here().devices.restore('dev_none')).toEqual({ kind: 'not_found' });
  });

  it('M8 leaves a device revoked when it is activated and revoked simultaneously', async () => {
    for (let round = 0; round < 10; round++) {
      const { row, keyHash } = await reach('deactivated');
      await Promise.all([activate(keyHash, 'mac-0001'), other().devices.revoke(row)]);
      const devices = await other().devices.list({ limit: 1000 });
      expect(devices.find(({ id }) => id === row)?.status).toBe('revoked');
    }
  });

  it('M7 lists devices with their description, versions and last-seen time', async () => {
    const { license, keyHash } = await create(1);
    const row = rowOf(await activate(keyHash, 'mac-0001'));
    const activatedAt = accounts.now();
    await here().devices.recordLastSeen([row, 'dev_none'], activatedAt + 5000);
    await here().devices.updateVersions(row, { osVersion: '26.2', appVersion: '1.1.0' });
    expect(await other().devices.list({ limit: 1000 })).toEqual([
      {
        id: row,
        deviceId: 'mac-0001',
        license: license.label,
        licenseId: license.id,
        name: DESCRIPTION.name,
        osVersion: '26.2',
        appVersion: '1.1.0',
        status: 'active',
        activatedAt,
        lastSeenAt: activatedAt + 5000,
      },
    ]);
    expect(await other().devices.name(license.id, 'mac-0001')).toBe(DESCRIPTION.name);
    expect(await other().devices.name('lic_none', 'mac-0001')).toBeUndefined();
    await here().devices.recordLastSeen([], 0);
  });

  it('T65 reads a page of 20,000 devices without the others', () => readsOnlyPages(openDatabase()));

  it('M7 a closed database rejects with EngineError, never with an unknown key', async () => {
    await openDatabase().close();
    await expect(activate(hashSecret('key'), 'mac-0001')).rejects.toBeInstanceOf(EngineError);
    await expect(here().devices.standingsByToken(['x'])).rejects.toBeInstanceOf(EngineError);
  });
});

const DEVICES = 20_000;

/** Adds a license with 20,000 deactivated devices, as an earlier version kept them. */
async function addDevices({ db }: OpenDatabase): Promise<void> {
  const row = { license_id: 'lic_many', os_version: '26.1', app_version: '1.0.0', updated_at: 0 };
  await db
    .insertInto('licenses')
    .values({
      id: row.license_id,
      label: 'Many',
      key_hash: 'hash',
      key_hint: 'ABCDE',
      max_seats: 1,
      activation_day: 0,
      activations: 0,
      status: 'active',
      created_at: 0,
      updated_at: 0,
    })
    .execute();
  for (let from = 0; from < DEVICES; from += 500)
    await db
      .insertInto('devices')
      .values(
        Array.from({ length: 500 }, (_, index) => ({
          ...row,
          id: `dev_${from + index}`,
          device_id: `mac-${from + index}`,
          name: `Mac ${from + index}`,
          token_hash: `token ${from + index}`,
          location_id: null,
          status: 'deactivated' as const,
          activated_at: Math.floor((from + index) / 3),
          last_seen_at: 0,
        })),
      )
      .execute();
}

const plan = { sqlite: 'explain query plan', postgres: 'explain' };

async function readsOnlyPages(database: OpenDatabase): Promise<void> {
  const { devices } = createAccountTables({ database, clock: new FakeClock() });
  await addDevices(database);
  await sql`analyze`.execute(database.db);
  const ids = new Set<string>();
  let slowestMs = 0;
  for (let after: TimedPage['after']; ;) {
    const started = performance.now();
    const page = await devices.list({ limit: 1000, after });
    slowestMs = Math.max(slowestMs, performance.now() - started);
    expect(page.length).toBeLessThanOrEqual(1000);
    for (const { id } of page) ids.add(id);
    const last = page.at(-1);
    if (last === undefined) break;
    after = { at: last.activatedAt, id: last.id };
  }
  expect(ids.size).toBe(DEVICES);
  expect(slowestMs).toBeLessThan(500);
  const query = sql`${sql.raw(plan[database.engine])} select devices.*, licenses.label from devices
    join licenses on licenses.id = devices.license_id
    where (devices.activated_at, devices.id) > (6000, 'dev_18000')
    order by devices.activated_at, devices.id limit 1000`;
  const { rows } = await query.execute(database.db);
  expect(JSON.stringify(rows)).toContain('devices_activation');
  expect(JSON.stringify(rows)).not.toMatch(/TEMP B-TREE|Sort/);
}
