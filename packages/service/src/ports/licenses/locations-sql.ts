import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type { Selectable } from 'kysely';

import type { Schema } from '../../sql/schema.ts';
import type { Assigned, Claim, Location, Owner } from './licenses.ts';
import { inChunks } from './sql-store.ts';
import type { Queries, SqlStore } from './sql-store.ts';
import { LOCATION_TRANSITIONS, mayBecome } from './transitions.ts';

type LocationRow = Selectable<Schema['locations']>;

interface LocationClaim {
  readonly locationId: LocationId;
  readonly licenseId: string;
  readonly deviceRow: string;
}

/** Locations and which license they belong to. */
export class SqlLocations {
  readonly #store: SqlStore;

  constructor(store: SqlStore) {
    this.#store = store;
  }

  async claim(wish: LocationClaim, mode: 'first' | 'operator'): Promise<Claim> {
    // Nearly all claims are a license's first of a new location, or another Mac of the license that has it: one statement each.
    if (mode === 'first' && (await this.#takeNew(wish))) return 'owned';
    if (await this.#noteDevice(wish)) return 'owned';
    return await this.#decide(wish, mode);
  }

  async #takeNew({ locationId, licenseId, deviceRow }: LocationClaim): Promise<boolean> {
    const now = this.#store.clock.now();
    const row: LocationRow = {
      location_id: locationId,
      license_id: licenseId,
      state: 'bound',
      device_row: deviceRow,
      created_at: now,
      updated_at: now,
    };
    const { numInsertedOrUpdatedRows } = await this.#store.read('a location cannot be claimed', (db) =>
      db
        .insertInto('locations')
        .values(row)
        .onConflict((conflict) => conflict.column('location_id').doNothing())
        .executeTakeFirst(),
    );
    return numInsertedOrUpdatedRows === 1n;
  }

  async #noteDevice({ locationId, licenseId, deviceRow }: LocationClaim): Promise<boolean> {
    const { numUpdatedRows } = await this.#store.read('a location cannot be claimed', (db) =>
      db
        .updateTable('locations')
        .set({ device_row: deviceRow, updated_at: this.#store.clock.now() })
        .where('location_id', '=', locationId)
        .where('license_id', '=', licenseId)
        .executeTakeFirst(),
    );
    return numUpdatedRows === 1n;
  }

  async #decide(
    { locationId, licenseId, deviceRow }: LocationClaim,
    mode: 'first' | 'operator',
  ): Promise<Claim> {
    return await this.#store.change('a location cannot be claimed', async (tx) => {
      await this.#note(tx, locationId, mode);
      const row = await this.#store.lockLocation(tx, locationId);
      if (row === undefined) return 'unassigned';
      if (row.license_id !== null && row.license_id !== licenseId) return 'foreign';
      if (row.license_id === null && mode === 'operator') return 'unassigned';
      await this.#put(tx, row, { license_id: licenseId, state: 'bound', device_row: deviceRow });
      return 'owned';
    });
  }

  /** Makes sure that there is a row to lock: of two first claims, the second waits for the first. */
  async #note(tx: Queries, locationId: string, mode: 'first' | 'operator'): Promise<void> {
    if (mode === 'operator' && (await this.#unassigned(tx)) >= this.#store.unassignedKept) return;
    const now = this.#store.clock.now();
    await tx
      .insertInto('locations')
      .values({
        location_id: locationId,
        license_id: null,
        state: 'unassigned',
        device_row: null,
        created_at: now,
        updated_at: now,
      })
      .onConflict((conflict) => conflict.column('location_id').doNothing())
      .execute();
  }

  async #unassigned(tx: Queries): Promise<number> {
    const { count } = await tx
      .selectFrom('locations')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('license_id', 'is', null)
      .executeTakeFirstOrThrow();
    return count;
  }

  async #put(
    tx: Queries,
    row: LocationRow,
    change: Pick<LocationRow, 'license_id' | 'state' | 'device_row'>,
  ): Promise<LocationRow> {
    const changed = { ...change, updated_at: this.#store.clock.now() };
    await tx.updateTable('locations').set(changed).where('location_id', '=', row.location_id).execute();
    return { ...row, ...changed };
  }

  async owners(locationIds: readonly LocationId[]): Promise<Map<LocationId, Owner>> {
    const rows = await this.#store.read('owners of locations cannot be read', (db) =>
      inChunks(locationIds, (some) =>
        db
          .selectFrom('locations')
          .select(['location_id', 'license_id', 'device_row'])
          .where('location_id', 'in', some)
          .where('license_id', 'is not', null)
          .execute(),
      ),
    );
    const owners = new Map<LocationId, Owner>();
    for (const { location_id, license_id, device_row } of rows) {
      const locationId = asLocationId(location_id);
      if (locationId !== undefined && license_id !== null)
        owners.set(locationId, { licenseId: license_id, deviceRow: device_row });
    }
    return owners;
  }

  async assign(locationId: LocationId, licenseId: string | null): Promise<Assigned> {
    return await this.#store.change('a location cannot be assigned', async (tx) => {
      if (licenseId !== null) {
        const license = await this.#store.lockLicense(tx, { id: licenseId });
        if (license === undefined || license.status === 'revoked') return { kind: 'no_such_license' };
        await this.#note(tx, locationId, 'first');
      }
      const row = await this.#store.lockLocation(tx, locationId);
      if (row === undefined) return { kind: 'not_found' };
      const state = licenseId === null ? 'released' : 'bound';
      const possible = row.state === state || mayBecome(LOCATION_TRANSITIONS, row.state, state);
      if (!possible) return { kind: 'impossible', from: row.state, to: state };
      // The device that came last is of interest only while its license keeps the location.
      const device_row = row.license_id === licenseId ? row.device_row : null;
      const changed = await this.#put(tx, row, { license_id: licenseId, state, device_row });
      return { kind: 'changed', location: locationOf(changed), before: row.license_id };
    });
  }

  async list(): Promise<Location[]> {
    return await this.#store.read('locations cannot be read', async (db) => {
      const rows = await db.selectFrom('locations').selectAll().orderBy('location_id').execute();
      return rows.map(locationOf);
    });
  }
}

function locationOf(row: LocationRow): Location {
  return {
    locationId: row.location_id,
    state: row.state,
    licenseId: row.license_id,
    deviceRow: row.device_row,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
