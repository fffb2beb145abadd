import { randomBytes } from 'node:crypto';

import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { Transaction } from 'kysely';

import { EngineError } from '../../platform/errors.ts';
import type { Database, OpenDatabase } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';

export interface SqlLicensesDeps {
  readonly database: Pick<OpenDatabase, 'db' | 'engine'>;
  readonly clock: Clock;
  readonly failpoint?: Failpoint | undefined;
  /** Unassigned locations are stored for the operator. The limit keeps Macs with invented locations from filling the table. */
  readonly maxUnassigned?: number;
}

export type Queries = Transaction<Schema>;

/** Shared by the parts of the SQL engine: the database, its locks and its errors. */
export class SqlStore {
  readonly clock: Clock;
  readonly failpoint: Failpoint | undefined;
  readonly maxUnassigned: number;
  readonly #db: Database;
  readonly #locksRows: boolean;

  constructor({ database, clock, failpoint, maxUnassigned = 1000 }: SqlLicensesDeps) {
    this.#db = database.db;
    this.maxUnassigned = maxUnassigned;
    // SQLite has no row locks and needs none: a transaction holds the write lock from its beginning.
    this.#locksRows = database.engine === 'postgres';
    this.clock = clock;
    this.failpoint = failpoint;
  }

  async read<T>(problem: string, query: (db: Database) => Promise<T>): Promise<T> {
    try {
      return await query(this.#db);
    } catch (cause) {
      throw new EngineError('sql', `${problem}: the database failed`, cause);
    }
  }

  async change<T>(problem: string, work: (tx: Queries) => Promise<T>): Promise<T> {
    return await this.read(problem, (db) => db.transaction().execute(work));
  }

  /** Locks the license until the transaction ends. Every transaction that counts its seats or changes it takes this lock. */
  async lockLicense(tx: Queries, by: { id: string } | { keyHash: string }) {
    const rows = tx.selectFrom('licenses').selectAll();
    const one = 'id' in by ? rows.where('id', '=', by.id) : rows.where('key_hash', '=', by.keyHash);
    return await (this.#locksRows ? one.forUpdate() : one).executeTakeFirst();
  }

  async lockLocation(tx: Queries, locationId: string) {
    const one = tx.selectFrom('locations').selectAll().where('location_id', '=', locationId);
    return await (this.#locksRows ? one.forUpdate() : one).executeTakeFirst();
  }

  async lockPairingCode(tx: Queries, codeHash: string) {
    const one = tx.selectFrom('pairing_codes').selectAll().where('code_hash', '=', codeHash);
    return await (this.#locksRows ? one.forUpdate() : one).executeTakeFirst();
  }

  async seatsUsed(db: Queries | Database, licenseId: string): Promise<number> {
    const { used } = await db
      .selectFrom('devices')
      .select((eb) => eb.fn.countAll<number>().as('used'))
      .where('license_id', '=', licenseId)
      .where('status', '=', 'active')
      .executeTakeFirstOrThrow();
    return used;
  }
}

/** Resolves with the license, in any state, and with one other that is not revoked. */
export async function licensesBesides(db: Queries | Database, licenseId: string) {
  return await db
    .selectFrom('licenses')
    .select(['id', 'label', 'max_seats'])
    .where((eb) => eb.or([eb('status', '<>', 'revoked'), eb('id', '=', licenseId)]))
    .orderBy((eb) => eb.case().when('id', '=', licenseId).then(0).else(1).end())
    .limit(2)
    .execute();
}

/** Unique ids that are readable in logs: `lic_…`, `dev_…`. */
export function newRowId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('base64url').replaceAll(/[-_]/g, '0')}`;
}
