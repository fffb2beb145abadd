import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';
import type { InferResult, Selectable } from 'kysely';

import { guarded, inChunks } from '../../platform/sql/queries.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import { licensesBesides } from './accounts-sql.ts';
import type { AccountsTransaction, RowLocks } from './accounts-sql.ts';
import type { Device } from './devices-sql.ts';
import { LOCATION_TRANSITIONS, mayBecome } from './transitions.ts';
import type { InvalidChange, LocationState } from './transitions.ts';

/** The device that bound a location last. */
export type LastDevice = Pick<Device, 'id' | 'deviceId' | 'name' | 'lastSeenAt'>;

export interface Location {
  readonly locationId: string;
  readonly state: LocationState;
  readonly licenseId: string | null;
  /** The device that bound the location last. */
  readonly deviceRow: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A location with the label of its license and the device that bound it last. */
export interface LocationDetails {
  readonly locationId: string;
  readonly state: LocationState;
  readonly licenseId: string | null;
  readonly license: string | null;
  /** A Mac of the license claimed the location, and the operator has not confirmed it. */
  readonly claimed: boolean;
  readonly lastDevice: LastDevice | null;
}

export interface LocationOwner {
  readonly licenseId: string;
  readonly deviceRow: string | null;
}

export type AssignOutcome =
  | { readonly kind: 'changed'; readonly location: Location; readonly before: string | null }
  | { readonly kind: 'no_such_license' }
  | InvalidChange;

/**
 * Who may take a location that has no owner: `first` any license; `operator` none, the operator assigns it; `auto` any license while
 * there is only one, so that no tenant takes a location that another is about to use.
 */
export type LocationClaimMode = 'auto' | 'first' | 'operator';

/** `owned`: the license owns the location. `foreign`: another license owns it. `unassigned`: the operator must assign it first. */
export type ClaimOutcome = 'owned' | 'foreign' | 'unassigned';

type LocationRow = Selectable<Schema['locations']>;

/** Locations that a license may take without the operator, besides one per seat. */
const SPARE_LOCATIONS = 10;

interface LocationClaim {
  readonly locationId: LocationId;
  readonly licenseId: string;
  readonly deviceRow: string;
}

const queried = guarded('locations cannot be read or changed: the database failed');

interface LocationsDeps {
  readonly db: Database;
  readonly locks: RowLocks;
  readonly clock: Clock;
  readonly maxUnassigned: number;
}

/** Locations and the licenses that own them. When several licenses claim a free location at once, exactly one gets it (M8). */
export class Locations {
  readonly #db: Database;
  readonly #locks: RowLocks;
  readonly #clock: Clock;
  readonly #maxUnassigned: number;

  constructor({ db, locks, clock, maxUnassigned }: LocationsDeps) {
    this.#db = db;
    this.#locks = locks;
    this.#clock = clock;
    this.#maxUnassigned = maxUnassigned;
  }

  /** Takes a free location if the mode allows it and the license may own one more, and records the device that bound it last. */
  async claim(request: LocationClaim, mode: LocationClaimMode): Promise<ClaimOutcome> {
    // Most claims are from a Mac of the owning license, or for a new location.
    if (await this.#recordDevice(request)) return 'owned';
    const mayTake = await this.#mayTake(request.licenseId, mode);
    if (mayTake && (await this.#claimNew(request))) return 'owned';
    return await this.#claimLocked(request, mayTake ? 'first' : 'operator');
  }

  /** Whether the license may take a location that has no owner. A seat serves one location, and Macs move now and then. */
  async #mayTake(licenseId: string, mode: LocationClaimMode): Promise<boolean> {
    if (mode === 'operator') return false;
    return await queried(async () => {
      const [own, other] = await licensesBesides(this.#db, licenseId);
      if (own === undefined || (mode === 'auto' && other !== undefined)) return false;
      const { count } = await this.#db
        .selectFrom('locations')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('license_id', '=', licenseId)
        .executeTakeFirstOrThrow();
      return count < own.max_seats + SPARE_LOCATIONS;
    });
  }

  async #claimNew({ locationId, licenseId, deviceRow }: LocationClaim): Promise<boolean> {
    const now = this.#clock.now();
    const row = {
      location_id: locationId,
      license_id: licenseId,
      state: 'bound' as const,
      device_row: deviceRow,
      confirmed: 0,
      created_at: now,
      updated_at: now,
    };
    const { numInsertedOrUpdatedRows } = await queried(() =>
      this.#db
        .insertInto('locations')
        .values(row)
        .onConflict((conflict) => conflict.column('location_id').doNothing())
        .executeTakeFirst(),
    );
    return numInsertedOrUpdatedRows === 1n;
  }

  async #recordDevice({ locationId, licenseId, deviceRow }: LocationClaim): Promise<boolean> {
    const { numUpdatedRows } = await queried(() =>
      this.#db
        .updateTable('locations')
        .set((is) => ({
          device_row: deviceRow,
          handed_over_at: is
            .case()
            .when('device_row', '<>', deviceRow)
            .then(this.#clock.now())
            .else(is.ref('handed_over_at'))
            .end(),
          updated_at: this.#clock.now(),
        }))
        .where('location_id', '=', locationId)
        .where('license_id', '=', licenseId)
        .executeTakeFirst(),
    );
    return numUpdatedRows === 1n;
  }

  async #claimLocked(
    { locationId, licenseId, deviceRow }: LocationClaim,
    mode: 'first' | 'operator',
  ): Promise<ClaimOutcome> {
    return await queried(() =>
      this.#db.transaction().execute(async (tx) => {
        await this.#ensureRow(tx, locationId, mode);
        const row = await this.#locks.location(tx, locationId);
        if (row === undefined) return 'unassigned';
        if (row.license_id !== null && row.license_id !== licenseId) return 'foreign';
        if (row.license_id === null && mode === 'operator') return 'unassigned';
        await this.#update(tx, row, {
          license_id: licenseId,
          state: 'bound',
          device_row: deviceRow,
          // Another Mac of the license may have claimed it meanwhile, or the operator assigned it.
          confirmed: row.license_id === null ? 0 : row.confirmed,
        });
        return 'owned';
      }),
    );
  }

  /** Inserts the row to lock, so that the second of two simultaneous first claims waits for the first. */
  async #ensureRow(tx: AccountsTransaction, locationId: string, mode: 'first' | 'operator'): Promise<void> {
    if (mode === 'operator' && (await this.#countUnassigned(tx)) >= this.#maxUnassigned) return;
    const now = this.#clock.now();
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

  async #countUnassigned(tx: AccountsTransaction): Promise<number> {
    const { count } = await tx
      .selectFrom('locations')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('license_id', 'is', null)
      .executeTakeFirstOrThrow();
    return count;
  }

  async #update(
    tx: AccountsTransaction,
    row: LocationRow,
    change: Pick<LocationRow, 'license_id' | 'state' | 'device_row' | 'confirmed'>,
  ): Promise<LocationRow> {
    const now = this.#clock.now();
    const isHandedOver = row.device_row !== null && row.device_row !== change.device_row;
    const changed = { ...change, ...(isHandedOver && { handed_over_at: now }), updated_at: now };
    await tx.updateTable('locations').set(changed).where('location_id', '=', row.location_id).execute();
    return { ...row, ...changed };
  }

  /** Resolves with the owner of each of these locations that has one. */
  async owners(locationIds: readonly LocationId[]): Promise<Map<LocationId, LocationOwner>> {
    const rows = await queried(() =>
      inChunks(locationIds, (chunk) =>
        this.#db
          .selectFrom('locations')
          .select(['location_id', 'license_id', 'device_row'])
          .where('location_id', 'in', chunk)
          .where('license_id', 'is not', null)
          .execute(),
      ),
    );
    const owners = new Map<LocationId, LocationOwner>();
    for (const { location_id, license_id, device_row } of rows) {
      const locationId = asLocationId(location_id);
      if (locationId !== undefined && license_id !== null)
        owners.set(locationId, { licenseId: license_id, deviceRow: device_row });
    }
    return owners;
  }

  /** Resolves with the handovers to another device at this time or later: when each location, or this one, was handed over. */
  async handovers(since: number, locationId?: string): Promise<Map<string, number>> {
    const [deleted, handedOver] = await queried(() => {
      const former = this.#db
        .selectFrom('deleted_locations')
        .select(['location_id', 'deleted_at as at'])
        .where('deleted_at', '>=', since);
      const present = this.#db
        .selectFrom('locations')
        .select(['location_id', 'handed_over_at as at'])
        .where('handed_over_at', '>=', since);
      if (locationId === undefined) return Promise.all([former.execute(), present.execute()]);
      return Promise.all([
        former.where('location_id', '=', locationId).execute(),
        present.where('location_id', '=', locationId).execute(),
      ]);
    });
    // A location that was handed over again after its deletion has the later time.
    return new Map([...deleted, ...handedOver].map(({ location_id, at }) => [location_id, at ?? 0]));
  }

  /** Assigns a location to a license, which also confirms what a Mac of that license claimed, or releases it with null. */
  async assign(locationId: LocationId, licenseId: string | null): Promise<AssignOutcome> {
    return await queried(() =>
      this.#db.transaction().execute(async (tx) => {
        if (licenseId !== null) {
          const license = await this.#locks.license(tx, { id: licenseId });
          if (license === undefined || license.status === 'revoked') return { kind: 'no_such_license' };
          await this.#ensureRow(tx, locationId, 'first');
        }
        const row = await this.#locks.location(tx, locationId);
        if (row === undefined) return { kind: 'not_found' };
        const state = licenseId === null ? 'released' : 'bound';
        const possible = row.state === state || mayBecome(LOCATION_TRANSITIONS, row.state, state);
        if (!possible) return { kind: 'impossible', from: row.state, to: state };
        // The last device is kept only while its license owns the location.
        const device_row = row.license_id === licenseId ? row.device_row : null;
        const confirmed = licenseId === null ? 0 : 1;
        const changed = await this.#update(tx, row, { license_id: licenseId, state, device_row, confirmed });
        if (row.license_id !== licenseId)
          await tx.deleteFrom('pairing_codes').where('location_id', '=', locationId).execute();
        return { kind: 'changed', location: locationOf(changed), before: row.license_id };
      }),
    );
  }

  /** Deletes a location that no license owns. It is stored again when a Mac requests it, and that Mac counts as another device (`handovers`). */
  async delete(locationId: LocationId): Promise<'deleted' | 'owned' | 'not_found'> {
    return await queried(() =>
      this.#db.transaction().execute(async (tx) => {
        const row = await this.#locks.location(tx, locationId);
        if (row === undefined) return 'not_found';
        if (row.license_id !== null) return 'owned';
        await tx.deleteFrom('locations').where('location_id', '=', locationId).execute();
        if (row.handed_over_at === null) return 'deleted';
        const deleted = { deleted_at: this.#clock.now() };
        await tx
          .insertInto('deleted_locations')
          .values({ location_id: locationId, ...deleted })
          .onConflict((conflict) => conflict.column('location_id').doUpdateSet(deleted))
          .execute();
        return 'deleted';
      }),
    );
  }

  /** Lists up to `limit` locations that a license owns. */
  async owned(limit: number): Promise<string[]> {
    const rows = await queried(() =>
      this.#db
        .selectFrom('locations')
        .select('location_id')
        .where('license_id', 'is not', null)
        .orderBy('location_id')
        .limit(limit)
        .execute(),
    );
    return rows.map(({ location_id }) => location_id);
  }

  /** Resolves with each of these locations that is known, in any order. */
  async find(locationIds: readonly string[]): Promise<LocationDetails[]> {
    const rows = await queried(() =>
      inChunks(locationIds, (chunk) =>
        selectDetails(this.#db).where('locations.location_id', 'in', chunk).execute(),
      ),
    );
    return rows.map(detailsOf);
  }

  /** Lists up to `limit` locations whose id is after `after`, in the order of the database. An empty string starts at the beginning. */
  async list(after: string, limit: number): Promise<LocationDetails[]> {
    const rows = await queried(() =>
      selectDetails(this.#db)
        .where('locations.location_id', '>', after)
        .orderBy('locations.location_id')
        .limit(limit)
        .execute(),
    );
    return rows.map(detailsOf);
  }
}

const selectDetails = (db: Database) =>
  db
    .selectFrom('locations')
    .leftJoin('licenses', 'licenses.id', 'locations.license_id')
    .leftJoin('devices', 'devices.id', 'locations.device_row')
    .select([
      'locations.location_id as locationId',
      'locations.state',
      'locations.license_id as licenseId',
      'locations.confirmed',
      'licenses.label as license',
      'locations.device_row as deviceRow',
      'devices.device_id as deviceId',
      'devices.name',
      'devices.last_seen_at as lastSeenAt',
    ]);

type DetailsRow = InferResult<ReturnType<typeof selectDetails>>[number];

function detailsOf(row: DetailsRow): LocationDetails {
  const { locationId, state, licenseId, license, confirmed, deviceRow: id, deviceId, name, lastSeenAt } = row;
  const isKnown = id !== null && deviceId !== null && name !== null && lastSeenAt !== null;
  const lastDevice = isKnown ? { id, deviceId, name, lastSeenAt } : null;
  const claimed = licenseId !== null && confirmed === 0;
  return { locationId, state, licenseId, license, claimed, lastDevice };
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
