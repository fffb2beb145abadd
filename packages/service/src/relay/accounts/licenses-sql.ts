import type { Clock } from '@footbridge/runtime/clock';
import { sql } from 'kysely';
import type { Selectable } from 'kysely';

import { guarded, inChunks } from '../../platform/sql/queries.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import type { TimedPage } from '../../platform/timed-page.ts';
import { newRowId, seatsUsed } from './accounts-sql.ts';
import type { AccountsTransaction, RowLocks } from './accounts-sql.ts';
import { LICENSE_TRANSITIONS, mayBecome } from './transitions.ts';
import type { InvalidChange, LicenseStatus } from './transitions.ts';

export interface Seats {
  readonly used: number;
  readonly max: number;
}

export interface License {
  readonly id: string;
  readonly label: string;
  /** The last group of the key, by which the operator tells licenses apart. */
  readonly keyHint: string;
  readonly status: LicenseStatus;
  readonly seats: Seats;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface LicenseChange {
  readonly status?: LicenseStatus;
  readonly maxSeats?: number;
  readonly label?: string;
}

export type LicenseChangeOutcome =
  | { readonly kind: 'changed'; readonly license: License; readonly before: LicenseStatus }
  /** More seats are taken than the license would have. */
  | { readonly kind: 'seats_taken'; readonly used: number }
  | InvalidChange;

const queried = guarded('licenses cannot be read or changed: the database failed');

/** Licenses with the number of their seats in use. */
export class Licenses {
  readonly #db: Database;
  readonly #locks: RowLocks;
  readonly #clock: Clock;

  constructor({ db, locks, clock }: { db: Database; locks: RowLocks; clock: Clock }) {
    this.#db = db;
    this.#locks = locks;
    this.#clock = clock;
  }

  async create(license: {
    label: string;
    maxSeats: number;
    keyHash: string;
    keyHint: string;
  }): Promise<License> {
    const now = this.#clock.now();
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
    await queried(() => this.#db.insertInto('licenses').values(row).execute());
    return licenseOf(row, 0);
  }

  async change(id: string, change: LicenseChange): Promise<LicenseChangeOutcome> {
    return await queried(() =>
      this.#db.transaction().execute(async (tx) => {
        const row = await this.#locks.license(tx, { id });
        if (row === undefined) return { kind: 'not_found' };
        const to = change.status ?? row.status;
        if (to !== row.status && !mayBecome(LICENSE_TRANSITIONS, row.status, to))
          return { kind: 'impossible', from: row.status, to };
        const used = await seatsUsed(tx, id);
        if (change.maxSeats !== undefined && change.maxSeats < used) return { kind: 'seats_taken', used };
        const changed = {
          ...row,
          status: to,
          label: change.label ?? row.label,
          max_seats: change.maxSeats ?? row.max_seats,
          updated_at: this.#clock.now(),
        };
        await save(tx, changed);
        return { kind: 'changed', license: licenseOf(changed, used), before: row.status };
      }),
    );
  }

  /** Resolves with 0 when the license is unknown. */
  async maxSeats(id: string): Promise<number> {
    const row = await queried(() =>
      this.#db.selectFrom('licenses').select('max_seats').where('id', '=', id).executeTakeFirst(),
    );
    return row?.max_seats ?? 0;
  }

  /** Lists all licenses or a page of them, ordered by creation time and id. */
  async list(page?: TimedPage): Promise<License[]> {
    return await queried(async () => {
      let query = this.#db.selectFrom('licenses').selectAll().orderBy('created_at').orderBy('id');
      if (page !== undefined) query = query.limit(page.limit);
      if (page?.after !== undefined) {
        const { at, id } = page.after;
        query = query.where(sql<boolean>`(created_at, id) > (${at}, ${id})`);
      }
      const rows = await query.execute();
      const used = await seatsByLicense(this.#db, page === undefined ? undefined : rows.map(({ id }) => id));
      return rows.map((row) => licenseOf(row, used.get(row.id) ?? 0));
    });
  }
}

async function save(
  tx: AccountsTransaction,
  { id, status, label, max_seats, updated_at }: LicenseRow,
): Promise<void> {
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
