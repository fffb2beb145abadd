import { randomBytes } from 'node:crypto';

import type { Transaction } from 'kysely';

import type { Clock } from '../../clock.ts';
import { EngineError } from '../../errors.ts';
import type { Failpoint } from '../../failpoint.ts';
import type { Database, OpenDatabase } from '../../sql/open-database.ts';
import type { Schema } from '../../sql/schema.ts';

export interface SqlLicensesOptions {
  readonly database: Pick<OpenDatabase, 'db' | 'engine'>;
  readonly clock: Clock;
  readonly failpoint?: Failpoint | undefined;
  /** Locations that nobody owns are noted for the operator, but a Mac that makes them up cannot fill the table. */
  readonly unassignedKept?: number;
}

export type Queries = Transaction<Schema>;

/** What the three parts of the SQL engine share: the database, its lock, and how its failures look. */
export class SqlStore {
  readonly clock: Clock;
  readonly failpoint: Failpoint | undefined;
  readonly unassignedKept: number;
  readonly #db: Database;
  readonly #locksRows: boolean;

  constructor({ database, clock, failpoint, unassignedKept = 1000 }: SqlLicensesOptions) {
    this.#db = database.db;
    this.unassignedKept = unassignedKept;
    // SQLite has no row locks and needs none: its transactions hold the one write lock from their beginning.
    this.#locksRows = database.engine === 'postgres';
    this.clock = clock;
    this.failpoint = failpoint;
  }

  async read<T>(what: string, query: (db: Database) => Promise<T>): Promise<T> {
    try {
      return await query(this.#db);
    } catch (cause) {
      throw new EngineError('sql', `${what}: the database failed`, cause);
    }
  }

  async change<T>(what: string, work: (tx: Queries) => Promise<T>): Promise<T> {
    return await this.read(what, (db) => db.transaction().execute(work));
  }

  /** The license, held until the transaction ends: whoever counts its seats or changes it waits here. */
  async lockLicense(tx: Queries, by: { id: string } | { keyHash: string }) {
    const rows = tx.selectFrom('licenses').selectAll();
    const one = 'id' in by ? rows.where('id', '=', by.id) : rows.where('key_hash', '=', by.keyHash);
    return await (this.#locksRows ? one.forUpdate() : one).executeTakeFirst();
  }

  async lockLocation(tx: Queries, locationId: string) {
    const one = tx.selectFrom('locations').selectAll().where('location_id', '=', locationId);
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

/** Unique, and readable in a log: `lic_…`, `dev_…`. */
export function newRowId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('base64url').replaceAll(/[-_]/g, '0')}`;
}

const LIST_AT_ONCE = 500;

/** Asks for many things in a few questions; neither engine takes a list of any length. */
export async function inChunks<K, V>(
  keys: readonly K[],
  ask: (some: readonly K[]) => Promise<readonly V[]>,
): Promise<V[]> {
  const all: V[] = [];
  for (let from = 0; from < keys.length; from += LIST_AT_ONCE)
    all.push(...(await ask(keys.slice(from, from + LIST_AT_ONCE))));
  return all;
}
