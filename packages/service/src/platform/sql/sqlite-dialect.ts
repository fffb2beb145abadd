import { DatabaseSync } from 'node:sqlite';
import { SQLITE_BUSY, sqliteCode } from '@footbridge/runtime/sqlite-code';
import { SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult } from 'kysely';
import { setTimeout as sleep } from 'node:timers/promises';
import { WalCheckpoint } from './wal-checkpoint.ts';

interface Prepared {
  readonly statement: ReturnType<DatabaseSync['prepare']>;
  readonly hasRows: boolean;
}

export interface SqliteListeners {
  readonly onCheckpointError: (error: unknown) => void;
  readonly onWaiting: ForeignLockDeps['onWaiting'];
}

export interface SqliteDialect extends Dialect {
  /** Executes the queries in one transaction, without Kysely's overhead per query. */
  readonly commit: (queries: readonly CompiledQuery[]) => Promise<QueryResult<unknown>[]>;
}

/** Kysely on Node's SQLite. There is one connection, acquired by one caller at a time, so that transactions never interleave. */
export function sqliteDialect(database: DatabaseSync, listeners: SqliteListeners): SqliteDialect {
  const driver = new SqliteDriver(database, listeners);
  return {
    createAdapter: () => new OwnSqliteAdapter(),
    createDriver: () => driver,
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    commit: (queries) => driver.commit(queries),
  };
}

/** In WAL mode other processes can read while this one writes. A committed write survives kill -9; a power failure may lose the last ones. */
export function openSqlite(file: string): DatabaseSync {
  // Processes that start together enter WAL mode one after the other.
  const database = new DatabaseSync(file, { timeout: 5000 });
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;' +
      // Measured: an 8 MB page cache saves a tenth of the CPU, and a statement journal in memory another tenth.
      'PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY;' +
      // A fallback: `WalCheckpoint` normally checkpoints earlier.
      'PRAGMA wal_autocheckpoint = 25000;' +
      // The driver waits for the lock of another process: SQLite would block the event loop.
      'PRAGMA busy_timeout = 0;',
  );
  return database;
}

class OwnSqliteAdapter extends SqliteAdapter {
  /** Migrations run in one transaction: a failed one leaves no partial schema, and processes that start together wait for each other. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }

  /** Our driver queues the callers. Kysely's own lock wakes all of them to let one pass: with 10,000 that took most of the time. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

class SqliteDriver implements Driver {
  #database: DatabaseSync;
  #connection: SqliteConnection;
  #checkpoint: WalCheckpoint | undefined;
  #lock: ForeignLock;
  #queue: Promise<void> = Promise.resolve();
  #release: (() => void) | undefined;

  constructor(database: DatabaseSync, { onCheckpointError, onWaiting }: SqliteListeners) {
    const file = database.location();
    this.#database = database;
    if (file !== null)
      this.#checkpoint = new WalCheckpoint({
        file,
        exclusively: (task) => this.#exclusively(task),
        onError: onCheckpointError,
      });
    this.#connection = new SqliteConnection(
      database,
      (rows) => this.#checkpoint?.changed(rows),
      (statement, isRead) => this.#whenUnlocked(statement, isRead),
    );
    this.#lock = new ForeignLock({ isHeld: () => this.#isLockedByAnother(), onWaiting });
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
    // IMMEDIATE takes the write lock at once: seats and claims are counted under it, across processes too.
    await this.#whenUnlocked(() => this.#connection.control('begin immediate'));
  }

  async commitTransaction(): Promise<void> {
    await this.#whenUnlocked(() => this.#connection.control('commit'));
  }

  async rollbackTransaction(): Promise<void> {
    // After a full disk or an I/O error, SQLite has already rolled back. A second rollback would fail and hide that error.
    if (this.#database.isTransaction) this.#connection.control('rollback');
  }

  commit(queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]> {
    return this.#exclusively(async () => {
      try {
        await this.beginTransaction();
        const results = queries.map((query) => this.#connection.run(query));
        await this.commitTransaction();
        return results;
      } catch (error) {
        await this.rollbackTransaction();
        throw error;
      }
    });
  }

  async destroy(): Promise<void> {
    await this.#checkpoint?.close();
    await this.#queue;
    this.#database.close();
  }

  /**
   * Executes a statement. While another process has locked the file, writes wait in order, and reads pass them. Throws the error of SQLite
   * after MAX_WAIT_MS. The caller holds the connection; it is released while a statement outside of a transaction waits.
   */
  async #whenUnlocked<T>(statement: () => T, isRead = false): Promise<T> {
    const since = performance.now();
    if (this.#lock.released !== undefined && !isRead) await this.#stepAside(this.#lock.released);
    for (;;)
      try {
        return statement();
      } catch (error) {
        if (sqliteCode(error) !== SQLITE_BUSY || performance.now() - since > MAX_WAIT_MS) throw error;
        await this.#stepAside(this.#lock.untilReleased());
      }
  }

  async #stepAside(released: Promise<void>): Promise<void> {
    if (this.#database.isTransaction) return released;
    await this.releaseConnection();
    await released;
    await this.acquireConnection();
  }

  #isLockedByAnother(): boolean {
    if (!this.#database.isOpen || this.#database.isTransaction) return false;
    try {
      this.#connection.control('begin immediate');
      this.#connection.control('rollback');
      return false;
    } catch (error) {
      return sqliteCode(error) === SQLITE_BUSY;
    }
  }

  async #exclusively<T>(task: () => Promise<T>): Promise<T> {
    await this.acquireConnection();
    try {
      return await task();
    } finally {
      await this.releaseConnection();
    }
  }
}

const MAX_STATEMENTS = 200;
const IS_READ = /^select\b/i;

class SqliteConnection implements DatabaseConnection {
  #database: DatabaseSync;
  #changed: (rows: number) => void;
  #whenUnlocked: <T>(statement: () => T, isRead: boolean) => Promise<T>;
  #statements = new Map<string, Prepared>();

  constructor(
    database: DatabaseSync,
    changed: (rows: number) => void,
    whenUnlocked: <T>(statement: () => T, isRead: boolean) => Promise<T>,
  ) {
    this.#database = database;
    this.#changed = changed;
    this.#whenUnlocked = whenUnlocked;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const isPassing = this.#database.isTransaction || IS_READ.test(query.sql);
    return this.#whenUnlocked(() => this.run<R>(query), isPassing);
  }

  run<R>(query: CompiledQuery): QueryResult<R> {
    const { statement, hasRows } = this.#prepared(query.sql);
    const parameters = query.parameters.map(toSqlite);
    if (hasRows) {
      const rows = statement.all(...parameters) as R[];
      if (query.query.kind !== 'SelectQueryNode') this.#changed(rows.length);
      return { rows };
    }
    const { changes } = statement.run(...parameters);
    this.#changed(Number(changes));
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  /** Begins or ends a transaction. Not counted as changed rows: SQLite repeats the number of the statement before. */
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
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
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

const PROBE_MS = 10;
/** Longer than any program of ours holds the lock. */
const REPORTED_AFTER_MS = 1000;
/** After this time the waiting statements are attempted again, and those that have waited as long fail. */
export const MAX_WAIT_MS = 30_000;

export interface ForeignLockDeps {
  /** Whether another process holds the write lock now. Must not block. */
  readonly isHeld: () => boolean;
  /** Called once when statements have waited for a second, and once when they continue after that. */
  readonly onWaiting: (state: 'locked' | 'unlocked', waitedMs: number) => void;
}

/** The write lock of a SQLite file in the hands of another process. One timer probes it, however many statements wait. */
export class ForeignLock {
  readonly #deps: ForeignLockDeps;
  #released: Promise<void> | undefined;

  constructor(deps: ForeignLockDeps) {
    this.#deps = deps;
  }

  /** Undefined while no statement waits. Never rejects. */
  get released(): Promise<void> | undefined {
    return this.#released;
  }

  /** Resolves when the lock was released, or after MAX_WAIT_MS. */
  untilReleased(): Promise<void> {
    this.#released ??= this.#probe().finally(() => {
      this.#released = undefined;
    });
    return this.#released;
  }

  async #probe(): Promise<void> {
    const { isHeld, onWaiting } = this.#deps;
    const since = performance.now();
    const waited = () => Math.round(performance.now() - since);
    let isReported = false;
    do {
      await sleep(PROBE_MS);
      if (isReported || waited() < REPORTED_AFTER_MS) continue;
      isReported = true;
      onWaiting('locked', waited());
    } while (isHeld() && waited() < MAX_WAIT_MS);
    if (isReported) onWaiting('unlocked', waited());
  }
}
