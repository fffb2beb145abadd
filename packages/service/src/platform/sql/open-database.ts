import { Kysely, PostgresDialect } from 'kysely';
import type { CompiledQuery, PostgresPool, PostgresPoolClient, QueryResult } from 'kysely';
import type { Pool as PgPool, PoolClient as PgClient } from 'pg';

import { EngineError, StartError, isDiskFull } from '../errors.ts';
import { migrate } from './migrate.ts';
import { markInUse } from './postgres-in-use.ts';
import { makePrivate } from './private-file.ts';
import type { Schema } from './schema.ts';
import type { DatabaseConfig } from './settings.ts';
import { openSqlite, sqliteDialect } from './sqlite-dialect.ts';

export type Database = Kysely<Schema>;

export interface Queries {
  readonly engine: 'sqlite' | 'postgres';
  readonly db: Database;
  /** Executes the queries in order, in one transaction. Resolves with their results once it is committed. */
  readonly commit: (queries: readonly CompiledQuery[]) => Promise<QueryResult<unknown>[]>;
}

export interface OpenDatabase extends Queries {
  /** For health checks. Rejects when the database accepts no writes, and with EngineError when it does not respond within a second. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What no statement reports: errors of a background checkpoint or an idle connection, and that writes wait for another process. */
export type DatabaseEvent =
  | { readonly type: 'checkpoint_failed'; readonly error: unknown }
  | { readonly type: 'connection_lost'; readonly error: unknown }
  | LockEvent;

export interface LockEvent {
  readonly type: 'locked' | 'unlocked';
  readonly waitedMs: number;
}

export type OnDatabaseEvent = (event: DatabaseEvent) => void;

/** Opens and migrates the database. Rejects with StartError, whose message names the cause. */
export async function openDatabase(
  choice: DatabaseConfig,
  onEvent: OnDatabaseEvent,
  queryTimeoutMs = QUERY_TIMEOUT_MS,
): Promise<OpenDatabase> {
  const queries =
    choice.engine === 'sqlite'
      ? openFile(choice.file, onEvent)
      : await openServer(choice.url, onEvent, queryTimeoutMs);
  try {
    await migrate(queries.db);
  } catch (error) {
    await queries.db.destroy().catch(() => {});
    throw new StartError([`the database cannot be used: ${reason(error)}`], 1, error);
  }
  return {
    ...queries,
    async ping() {
      const timeout = AbortSignal.timeout(1000);
      const { promise, reject } = Promise.withResolvers<never>();
      timeout.addEventListener('abort', () =>
        reject(new EngineError('sql', 'the database did not respond within a second')),
      );
      // A standby refuses a write also when no row matches.
      const write = queries.db.deleteFrom('changes').where('id', '<', 0).execute();
      await Promise.race([write, promise]);
    },
    close: () => queries.db.destroy(),
  };
}

function openFile(file: string, onEvent: OnDatabaseEvent): Queries {
  try {
    if (file !== ':memory:') makePrivate(file);
    const dialect = sqliteDialect(openSqlite(file), {
      onCheckpointError: (error) => onEvent({ type: 'checkpoint_failed', error }),
      onWaiting: (type, waitedMs) => onEvent({ type, waitedMs }),
    });
    return { engine: 'sqlite', db: new Kysely<Schema>({ dialect }), commit: dialect.commit };
  } catch (error) {
    throw new StartError([`the database file ${file} cannot be opened: ${reason(error)}`], 1, error);
  }
}

// `pg` returns 64-bit integers as strings by default; all values in this schema are below 2^53.
const INT8 = 20;
/** Client-side timeouts, for a server or network that stops responding. A responsive server enforces `statement_timeout` itself. */
const QUERY_TIMEOUT_MS = 5000;
const SLOW_QUERY_TIMEOUT_MS = 35_000;
/** Statements that may wait for locks or run long; all others take milliseconds. */
const SLOW_QUERY = /\bfor update\b|\bpg_advisory|^(create|alter|drop)\b/i;
/** The error message of `pg` after `query_timeout`. */
const TIMED_OUT = 'Query read timeout';
/** The code of a write to a standby, or with `default_transaction_read_only`: another server may have taken its place at the address. */
const READ_ONLY = '25006';

async function openServer(url: string, onEvent: OnDatabaseEvent, queryTimeoutMs: number): Promise<Queries> {
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    // One connection is always open: it holds the lock that blocks `footbridge restore`.
    min: 1,
    connectionTimeoutMillis: queryTimeoutMs,
    statement_timeout: 30_000,
    lock_timeout: 30_000,
    keepAlive: true,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === INT8 ? Number : pg.types.getTypeParser(oid, format),
    },
  });
  // The pool replaces an idle connection that breaks; without a listener its error would end the process.
  pool.on('error', (error) => onEvent({ type: 'connection_lost', error }));
  // The same for a connection that breaks while the pool hands it over. The next statement on it fails.
  pool.on('connect', (client) => client.on('error', () => {}));
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: hardened(pool, queryTimeoutMs) }) });
  return { engine: 'postgres', db, commit: (queries) => commitOn(db, queries) };
}

/** A single query is its own transaction, which saves the round trips of `begin` and `commit`. */
async function commitOn(db: Database, queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]> {
  const execute = async (on: Database) => {
    const results: QueryResult<unknown>[] = [];
    for (const query of queries) results.push(await on.executeQuery(query));
    return results;
  };
  return queries.length === 1 ? execute(db) : db.transaction().execute(execute);
}

/**
 * Adds three things to the pool. Every connection marks the database as in use. PostgreSQL text cannot contain NUL, but ids from outside
 * may, so NUL is stored and searched as U+FFFD. And a connection that breaks between two statements, stops responding or accepts no writes
 * must not end the process or be reused.
 */
function hardened(pool: PgPool, queryTimeoutMs: number): PostgresPool {
  const marked = new WeakSet<PgClient>();
  const cleaned = (value: unknown) => (typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value);
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      if (!marked.has(client)) {
        try {
          await markInUse(client, queryTimeoutMs);
        } catch (error) {
          client.release(true);
          throw error;
        }
        marked.add(client);
      }
      let broken: Error | undefined;
      const onBroken = (error: Error) => {
        broken = error;
      };
      client.on('error', onBroken);
      return Object.assign(Object.create(client) as PgClient & PostgresPoolClient, {
        query: (text: string, parameters?: readonly unknown[]) => {
          if (broken !== undefined) return Promise.reject(broken);
          const statement = {
            text,
            values: parameters?.map(cleaned) ?? [],
            query_timeout: SLOW_QUERY.test(text) ? SLOW_QUERY_TIMEOUT_MS : queryTimeoutMs,
          };
          const result = client.query(statement);
          result.catch((error: Error & { code?: unknown }) => {
            if (error.message === TIMED_OUT || error.code === READ_ONLY) onBroken(error);
          });
          return result;
        },
        release: (destroy?: boolean) => {
          client.release(broken ?? destroy);
          client.off('error', onBroken);
        },
      });
    },
  };
}

/** Returns the cause of a failure, and what to do about it, in one line. */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ECONNREFUSED') return 'nothing listens at its address; check that PostgreSQL is running';
  const [, newer] = /previously executed migration (\S+) is missing/.exec(error.message) ?? [];
  if (newer !== undefined)
    return `a newer version of Footbridge has changed it (${newer}); start that version, or restore a backup made by this one`;
  if (isDiskFull(error))
    return 'the disk is full; free some space and start again: an interrupted migration leaves the tables as they were';
  if (/not a database|malformed/.test(error.message))
    return 'the file is not a SQLite database, or it is damaged; restore a backup or move it away';
  if (/locked|busy/.test(error.message))
    return 'another process has locked it; check that no second Footbridge runs on the same DATA_DIR';
  return error.message.split('\n')[0] ?? 'unknown reason';
}
