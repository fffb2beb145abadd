import { DatabaseSync } from 'node:sqlite';

import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult } from 'kysely';

import { WriteBack } from './write-back.ts';

interface Prepared {
  readonly statement: ReturnType<DatabaseSync['prepare']>;
  readonly hasRows: boolean;
}

/** Kysely over Node's own SQLite. One connection, handed out to one user at a time, so that a transaction is never interleaved. */
export function sqliteDialect(database: DatabaseSync): Dialect {
  return {
    createAdapter: () => new TransactionalAdapter(),
    createDriver: () => new SqliteDriver(database),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

/** A file other processes may read while we write. In WAL mode an acknowledged write outlives kill -9; a power cut may take the last ones. */
export function openSqlite(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  database.exec(
    'PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;' +
      // 8 MB of pages in memory spare a tenth of the work, and statements that can be undone in memory another one.
      'PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY;' +
      // Only where `WriteBack` does not come to it.
      'PRAGMA wal_autocheckpoint = 25000;',
  );
  return database;
}

/** Migrations run in one transaction: half a schema never stays behind, and two processes that start together take turns. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class SqliteDriver implements Driver {
  #database: DatabaseSync;
  #connection: SqliteConnection;
  #writeBack: WriteBack | undefined;
  #queue: Promise<void> = Promise.resolve();
  #release: (() => void) | undefined;

  constructor(database: DatabaseSync) {
    const file = database.location();
    this.#database = database;
    if (file !== null) this.#writeBack = new WriteBack(file, () => void this.#finishWriteBack());
    this.#connection = new SqliteConnection(database, (rows) => this.#writeBack?.changed(rows));
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.#queue;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#queue = promise;
    await before;
    this.#release = resolve;
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {
    this.#release?.();
  }

  async beginTransaction(): Promise<void> {
    // IMMEDIATE takes the write lock at once: seats and claims are counted under it, also against other processes.
    this.#connection.control('begin immediate');
  }

  async commitTransaction(): Promise<void> {
    this.#connection.control('commit');
  }

  async rollbackTransaction(): Promise<void> {
    this.#connection.control('rollback');
  }

  async destroy(): Promise<void> {
    await this.#writeBack?.close();
    await this.#queue;
    this.#database.close();
  }

  async #finishWriteBack(): Promise<void> {
    await this.acquireConnection();
    try {
      this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // The next portion tries again.
    } finally {
      await this.releaseConnection();
    }
  }
}

const STATEMENTS_KEPT = 200;

class SqliteConnection implements DatabaseConnection {
  #database: DatabaseSync;
  #changed: (rows: number) => void;
  #statements = new Map<string, Prepared>();

  constructor(database: DatabaseSync, changed: (rows: number) => void) {
    this.#database = database;
    this.#changed = changed;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { statement, hasRows } = this.#prepared(query.sql);
    const parameters = query.parameters.map(toSqlite);
    if (hasRows) {
      const rows = statement.all(...parameters) as R[];
      // Those that only read count too: there are few.
      this.#changed(rows.length);
      return { rows };
    }
    const { changes, lastInsertRowid } = statement.run(...parameters);
    this.#changed(Number(changes));
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
  }

  /** Begins and ends transactions: no rows, whatever the engine says it changed. */
  control(text: string): void {
    this.#prepared(text).statement.run();
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  #prepared(text: string): Prepared {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(text);
    if (this.#statements.size >= STATEMENTS_KEPT) this.#statements.clear();
    const prepared = { statement, hasRows: statement.columns().length > 0 };
    this.#statements.set(text, prepared);
    return prepared;
  }
}

type SqliteValue = null | number | bigint | string | Uint8Array;

function toSqlite(value: unknown): SqliteValue {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string') return value;
  if (value instanceof Uint8Array) return value;
  throw new TypeError('a value of this type cannot be stored');
}
