import { sql } from 'kysely';
import type { Selectable } from 'kysely';

import { inChunks } from '../../platform/sql/in-chunks.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import type { TimedPage } from '../../platform/timed-page.ts';
import { SqlDevices } from './devices-sql.ts';
import type { License, LicenseChange, LicenseChangeOutcome, Licenses } from './licenses.ts';
import { SqlLocations } from './locations-sql.ts';
import { SqlPairingCodes } from './pairing-codes-sql.ts';
import { newRowId, SqlStore } from './accounts-sql.ts';
import type { Queries, SqlLicensesDeps } from './accounts-sql.ts';
import { LICENSE_TRANSITIONS, mayBecome } from './transitions.ts';

/** Licenses, devices and locations in SQLite or PostgreSQL. */
export function createSqlLicenses(deps: SqlLicensesDeps): Licenses {
  const store = new SqlStore(deps);
  const licenses = new SqlLicenses(store);
  const devices = new SqlDevices(store);
  const locations = new SqlLocations(store);
  const pairingCodes = new SqlPairingCodes(store, devices);
  return {
    createLicense: (license) => licenses.create(license),
    changeLicense: (id, change) => licenses.change(id, change),
    listLicenses: (page) => licenses.list(page),
    maxSeats: (licenseId) => licenses.maxSeats(licenseId),
    activate: (request) => devices.activate(request),
    createPairingCode: (code) => pairingCodes.create(code),
    pair: (request) => pairingCodes.pair(request),
    deactivate: (tokenHash) => devices.deactivate(tokenHash),
    revokeDevice: (deviceRow) => devices.revoke(deviceRow),
    restoreDevice: (deviceRow) => devices.restore(deviceRow),
    listDevices: (page) => devices.list(page),
    findDevice: (deviceRow) => devices.find(deviceRow),
    deviceName: (licenseId, deviceId) => devices.name(licenseId, deviceId),
    standingsByToken: (tokenHashes) => devices.standingsByToken(tokenHashes),
    standingsByRow: (deviceRows) => devices.standingsByRow(deviceRows),
    recordLastSeen: (deviceRows, at) => devices.recordLastSeen(deviceRows, at),
    updateVersions: (deviceRow, versions) => devices.updateVersions(deviceRow, versions),
    claim: (claim, mode) => locations.claim(claim, mode),
    owners: (locationIds) => locations.owners(locationIds),
    handovers: (since, locationId) => locations.handovers(since, locationId),
    assign: (locationId, licenseId) => locations.assign(locationId, licenseId),
    deleteLocation: (locationId) => locations.delete(locationId),
    ownedLocations: (limit) => locations.owned(limit),
    findLocations: (locationIds) => locations.find(locationIds),
    listLocations: (after, limit) => locations.list(after, limit),
  };
}

class SqlLicenses {
  readonly #store: SqlStore;

  constructor(store: SqlStore) {
    this.#store = store;
  }

  async create(license: {
    label: string;
    maxSeats: number;
    keyHash: string;
    keyHint: string;
  }): Promise<License> {
    const now = this.#store.clock.now();
    const row = {
      id: newRowId('lic'),
      label: license.label,
      key_hash: license.keyHash,
      key_hint: license.keyHint,
      max_seats: license.maxSeats,
      activation_day: 0,
      activations: 0,
      status: 'active' as const,
      created_at: now,
      updated_at: now,
    };
    await this.#store.read('a license cannot be stored', (db) =>
      db.insertInto('licenses').values(row).execute(),
    );
    return licenseOf(row, 0);
  }

  async change(id: string, change: LicenseChange): Promise<LicenseChangeOutcome> {
    return await this.#store.change('a license cannot be changed', async (tx) => {
      const row = await this.#store.lockLicense(tx, { id });
      if (row === undefined) return { kind: 'not_found' };
      const to = change.status ?? row.status;
      if (to !== row.status && !mayBecome(LICENSE_TRANSITIONS, row.status, to))
        return { kind: 'impossible', from: row.status, to };
      const used = await this.#store.seatsUsed(tx, id);
      if (change.maxSeats !== undefined && change.maxSeats < used) return { kind: 'seats_taken', used };
      const changed = {
        ...row,
        status: to,
        label: change.label ?? row.label,
        max_seats: change.maxSeats ?? row.max_seats,
        updated_at: this.#store.clock.now(),
      };
      await save(tx, changed);
      return { kind: 'changed', license: licenseOf(changed, used), before: row.status };
    });
  }

  async maxSeats(id: string): Promise<number> {
    const row = await this.#store.read('licenses cannot be read', (db) =>
      db.selectFrom('licenses').select('max_seats').where('id', '=', id).executeTakeFirst(),
    );
    return row?.max_seats ?? 0;
  }

  async list(page: TimedPage | undefined): Promise<License[]> {
    return await this.#store.read('licenses cannot be read', async (db) => {
      let query = db.selectFrom('licenses').selectAll().orderBy('created_at').orderBy('id');
      if (page !== undefined) query = query.limit(page.limit);
      if (page?.after !== undefined) {
        const { at, id } = page.after;
        query = query.where(sql<boolean>`(created_at, id) > (${at}, ${id})`);
      }
      const rows = await query.execute();
      const used = await seatsByLicense(db, page === undefined ? undefined : rows.map(({ id }) => id));
      return rows.map((row) => licenseOf(row, used.get(row.id) ?? 0));
    });
  }
}

async function save(tx: Queries, { id, status, label, max_seats, updated_at }: LicenseRow): Promise<void> {
  await tx
    .updateTable('licenses')
    .set({ status, label, max_seats, updated_at })
    .where('id', '=', id)
    .execute();
}

/** Counts the seats in use of these licenses, or of all. */
async function seatsByLicense(db: Database, ids?: readonly string[]): Promise<Map<string, number>> {
  const seats = db
    .selectFrom('devices')
    .select((eb) => ['license_id', eb.fn.countAll<number>().as('used')])
    .where('status', '=', 'active')
    .groupBy('license_id');
  const rows = await (ids === undefined
    ? seats.execute()
    : inChunks(ids, (chunk) => seats.where('license_id', 'in', chunk).execute()));
  return new Map(rows.map(({ license_id, used }) => [license_id, used]));
}

type LicenseRow = Selectable<Schema['licenses']>;

function licenseOf(row: LicenseRow, used: number): License {
  return {
    id: row.id,
    label: row.label,
    keyHint: row.key_hint,
    status: row.status,
    seats: { used, max: row.max_seats },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
