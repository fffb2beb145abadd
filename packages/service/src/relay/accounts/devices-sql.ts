import { sql } from 'kysely';
import type { Selectable } from 'kysely';

import { inChunks } from '../../platform/sql/in-chunks.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import type { TimedPage } from '../../platform/timed-page.ts';
import type {
  Activation,
  ActivationRequest,
  Device,
  DeviceChangeOutcome,
  DeviceDetails,
  NewDevice,
  Standing,
} from './licenses.ts';
import { sameHash } from './secret-hash.ts';
import { newRowId } from './accounts-sql.ts';
import type { Queries, SqlStore } from './accounts-sql.ts';
import { DEVICE_TRANSITIONS, mayBecome } from './transitions.ts';
import type { DeviceStatus } from './transitions.ts';

type DeviceRow = Selectable<Schema['devices']>;
type LicenseRow = Selectable<Schema['licenses']>;

/** Deactivated devices that a license keeps for each of its seats, the newest ones. Without a bound, one seat could fill the table (T65). */
export const KEPT_PER_SEAT = 5;
/** Enough to clear the rows of an earlier version bit by bit, and few enough to be fast. */
const MAX_DELETED = 1000;
const DAY_MS = 86_400_000;

/** How often a license may be used to activate a device in a day, by UTC. A Mac activates once, and again when it lost its token. */
export const activationsPerDay = (seats: number): number => 50 + 20 * seats;

/** Devices and the seats that they take. */
export class SqlDevices {
  readonly #store: SqlStore;

  constructor(store: SqlStore) {
    this.#store = store;
  }

  async activate(request: ActivationRequest): Promise<Activation> {
    return await this.#store.change('a device cannot be activated', async (tx) => {
      // Every activation for this license waits for this lock, so the count below stays valid (T36).
      const license = await this.#store.lockLicense(tx, { keyHash: request.keyHash });
      if (license === undefined || !sameHash(license.key_hash, request.keyHash))
        return { kind: 'unknown_key' };
      return await this.activateFor(tx, license, request);
    });
  }

  /** The caller has locked the license. The token is good for any location of the license, or only for the given one. */
  async activateFor(
    tx: Queries,
    license: LicenseRow,
    request: NewDevice,
    onlyLocation: string | null = null,
  ): Promise<Activation> {
    if (license.status === 'revoked') return { kind: 'unknown_key' };
    if (license.status === 'suspended') return { kind: 'suspended' };
    const device = await this.#find(tx, license.id, request.deviceId);
    if (device?.status === 'revoked') return { kind: 'device_revoked' };
    const used = await this.#store.seatsUsed(tx, license.id);
    await this.#store.failpoint?.('seat.afterCount');
    const again = device?.status === 'active';
    const max = license.max_seats;
    if (!again && used >= max) return { kind: 'exhausted', licenseId: license.id, seats: { used, max } };
    const refused = await this.#countActivation(tx, license);
    if (refused !== undefined) return refused;
    const deviceRow = await this.#takeSeat(tx, license, device, request, onlyLocation);
    const seats = { used: again ? used : used + 1, max };
    return { kind: 'activated', deviceRow, licenseId: license.id, again, seats };
  }

  /** Returns why the license may not be used again today. */
  async #countActivation(
    tx: Queries,
    { id, max_seats, activation_day, activations: before }: LicenseRow,
  ): Promise<Extract<Activation, { kind: 'too_many' }> | undefined> {
    const now = this.#store.clock.now();
    const today = Math.floor(now / DAY_MS);
    const activations = activation_day === today ? before + 1 : 1;
    const max = activationsPerDay(max_seats);
    if (activations > max)
      return { kind: 'too_many', max, retryAfterSec: Math.ceil(((today + 1) * DAY_MS - now) / 1000) };
    const counted = { activation_day: today, activations };
    await tx.updateTable('licenses').set(counted).where('id', '=', id).execute();
    return undefined;
  }

  async #find(tx: Queries, licenseId: string, deviceId: string): Promise<DeviceRow | undefined> {
    return await tx
      .selectFrom('devices')
      .selectAll()
      .where('license_id', '=', licenseId)
      .where('device_id', '=', deviceId)
      .executeTakeFirst();
  }

  async #takeSeat(
    tx: Queries,
    { id: licenseId, max_seats }: LicenseRow,
    known: DeviceRow | undefined,
    request: NewDevice,
    onlyLocation: string | null,
  ): Promise<string> {
    const now = this.#store.clock.now();
    const values = {
      name: request.name,
      os_version: request.osVersion,
      app_version: request.appVersion,
      token_hash: request.tokenHash,
      location_id: onlyLocation,
      status: 'active' as const,
      activated_at: now,
      last_seen_at: now,
      updated_at: now,
    };
    if (known !== undefined) {
      await tx.updateTable('devices').set(values).where('id', '=', known.id).execute();
      return known.id;
    }
    const id = newRowId('dev');
    await tx
      .insertInto('devices')
      .values({ ...values, id, license_id: licenseId, device_id: request.deviceId })
      .execute();
    const givenUp = tx
      .selectFrom('devices')
      .select('id')
      .where('license_id', '=', licenseId)
      .where('status', '=', 'deactivated')
      .orderBy('updated_at', 'desc')
      .orderBy('id')
      .limit(MAX_DELETED)
      .offset(KEPT_PER_SEAT * max_seats);
    await tx.deleteFrom('devices').where('id', 'in', givenUp).execute();
    return id;
  }

  async deactivate(tokenHash: string): Promise<{ deviceRow: string; licenseId: string } | undefined> {
    return await this.#store.change('a device cannot be deactivated', async (tx) => {
      const device = await tx
        .updateTable('devices')
        .set({ status: 'deactivated', updated_at: this.#store.clock.now() })
        .where('token_hash', '=', tokenHash)
        .where('status', '=', 'active')
        .returning(['id', 'license_id', 'token_hash'])
        .executeTakeFirst();
      if (device === undefined || !sameHash(device.token_hash, tokenHash)) return undefined;
      return { deviceRow: device.id, licenseId: device.license_id };
    });
  }

  revoke(deviceRow: string): Promise<DeviceChangeOutcome> {
    return this.#setStatus(deviceRow, 'revoked', ['active', 'deactivated', 'revoked']);
  }

  restore(deviceRow: string): Promise<DeviceChangeOutcome> {
    return this.#setStatus(deviceRow, 'deactivated', ['revoked', 'deactivated']);
  }

  async #setStatus(
    id: string,
    to: DeviceStatus,
    allowed: readonly DeviceStatus[],
  ): Promise<DeviceChangeOutcome> {
    return await this.#store.change('a device cannot be changed', async (tx) => {
      const row = await tx.selectFrom('devices').selectAll().where('id', '=', id).executeTakeFirst();
      if (row === undefined) return { kind: 'not_found' };
      // A simultaneous activation of this device holds the lock; wait for it and read again.
      await this.#store.lockLicense(tx, { id: row.license_id });
      const locked = await tx
        .selectFrom('devices')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      const possible = locked.status === to || mayBecome(DEVICE_TRANSITIONS, locked.status, to);
      if (!allowed.includes(locked.status) || !possible)
        return { kind: 'impossible', from: locked.status, to };
      const changed = { status: to, updated_at: this.#store.clock.now() };
      await tx.updateTable('devices').set(changed).where('id', '=', id).execute();
      return { kind: 'changed', device: deviceOf({ ...locked, ...changed }) };
    });
  }

  async list({ limit, after }: TimedPage): Promise<DeviceDetails[]> {
    return await this.#store.read('devices cannot be read', async (db) => {
      const page = withLicense(db).orderBy('devices.activated_at').orderBy('devices.id').limit(limit);
      const rows = await (
        after === undefined
          ? page
          : page.where(sql<boolean>`(devices.activated_at, devices.id) > (${after.at}, ${after.id})`)
      ).execute();
      return rows.map(detailsOf);
    });
  }

  async find(deviceRow: string): Promise<DeviceDetails | undefined> {
    const row = await this.#store.read('devices cannot be read', (db) =>
      withLicense(db).where('devices.id', '=', deviceRow).executeTakeFirst(),
    );
    return row === undefined ? undefined : detailsOf(row);
  }

  async name(licenseId: string, deviceId: string): Promise<string | undefined> {
    const row = await this.#store.read('devices cannot be read', (db) =>
      db
        .selectFrom('devices')
        .select('name')
        .where('license_id', '=', licenseId)
        .where('device_id', '=', deviceId)
        .executeTakeFirst(),
    );
    return row?.name;
  }

  async standingsByToken(tokenHashes: readonly string[]): Promise<Map<string, Standing>> {
    const found = await this.#standings('devices.token_hash', tokenHashes);
    return new Map(found.map((standing) => [standing.tokenHash, standing]));
  }

  async standingsByRow(deviceRows: readonly string[]): Promise<Map<string, Standing>> {
    const found = await this.#standings('devices.id', deviceRows);
    return new Map(found.map((standing) => [standing.deviceRow, standing]));
  }

  async #standings(
    column: 'devices.token_hash' | 'devices.id',
    keys: readonly string[],
  ): Promise<Standing[]> {
    return await this.#store.read('devices cannot be looked up', (db) =>
      inChunks(keys, (chunk) => standings(db).where(column, 'in', chunk).execute()),
    );
  }

  async recordLastSeen(deviceRows: readonly string[], at: number): Promise<void> {
    await this.#store.read('the last-seen time of devices cannot be stored', (db) =>
      inChunks(deviceRows, (chunk) =>
        db.updateTable('devices').set({ last_seen_at: at }).where('id', 'in', chunk).execute(),
      ),
    );
  }

  async updateVersions(
    deviceRow: string,
    { osVersion, appVersion }: { osVersion: string; appVersion: string },
  ): Promise<void> {
    const versions = {
      os_version: osVersion,
      app_version: appVersion,
      updated_at: this.#store.clock.now(),
    };
    await this.#store.read('the versions of a device cannot be stored', (db) =>
      db.updateTable('devices').set(versions).where('id', '=', deviceRow).execute(),
    );
  }
}

const standings = (db: Database) =>
  db
    .selectFrom('devices')
    .innerJoin('licenses', 'licenses.id', 'devices.license_id')
    .select([
      'devices.id as deviceRow',
      'devices.device_id as deviceId',
      'devices.license_id as licenseId',
      'devices.location_id as onlyLocation',
      'devices.token_hash as tokenHash',
      'devices.os_version as osVersion',
      'devices.app_version as appVersion',
      'devices.status as device',
      'licenses.status as license',
    ]);

const withLicense = (db: Database) =>
  db
    .selectFrom('devices')
    .innerJoin('licenses', 'licenses.id', 'devices.license_id')
    .selectAll('devices')
    .select('licenses.label');

// Not `{ label, ...row }`: that takes longer than the query.
const detailsOf = (row: DeviceRow & { label: string }): DeviceDetails => ({
  ...deviceOf(row),
  license: row.label,
});

function deviceOf(row: DeviceRow): Device {
  return {
    id: row.id,
    deviceId: row.device_id,
    licenseId: row.license_id,
    name: row.name,
    osVersion: row.os_version,
    appVersion: row.app_version,
    status: row.status,
    activatedAt: row.activated_at,
    lastSeenAt: row.last_seen_at,
  };
}
