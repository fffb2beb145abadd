import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

import { Kysely, PostgresDialect, sql } from 'kysely';
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { Migrator } from 'kysely/migration';
import type { Pool as PgPool, PoolClient as PgClient } from 'pg';

import { EngineError, StartError } from '../errors.ts';
import { MIGRATIONS } from './migrations.ts';
import type { Schema } from './schema.ts';
import { openSqlite, sqliteDialect } from './sqlite-dialect.ts';

export type Database = Kysely<Schema>;

export interface OpenDatabase {
  readonly db: Database;
  readonly engine: 'sqlite' | 'postgres';
  /** One cheap question, for health checks; rejects when the engine does not answer within a second. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

type Choice = { engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string };

/** Receives errors that no statement reports: of a background checkpoint, or of an idle connection. */
export type OnDatabaseError = (part: 'checkpoint' | 'connection', error: unknown) => void;

/** Opens and migrates. Faults come as one clear line each, never as a stack. */
export async function openDatabase(
  choice: Choice,
  onError: OnDatabaseError,
  silentMs = SILENT_MS,
): Promise<OpenDatabase> {
  const db =
    choice.engine === 'sqlite'
      ? openFile(choice.file, onError)
      : await openServer(choice.url, onError, silentMs);
  try {
    await migrate(db);
  } catch (error) {
    await db.destroy().catch(() => {});
    throw new StartError([`the database cannot be used: ${reason(error)}`], 1, error);
  }
  return {
    db,
    engine: choice.engine,
    async ping() {
      const late = AbortSignal.timeout(1000);
      const { promise, reject } = Promise.withResolvers<never>();
      late.addEventListener('abort', () =>
        reject(new EngineError('sql', 'the database did not answer within a second')),
      );
      await Promise.race([sql`select 1`.execute(db), promise]);
    },
    close: () => db.destroy(),
  };
}

function openFile(file: string, onError: OnDatabaseError): Database {
  try {
    if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true });
    return new Kysely<Schema>({
      dialect: sqliteDialect(openSqlite(file), (error) => onError('checkpoint', error)),
    });
  } catch (error) {
    throw new StartError([`the database file ${file} cannot be opened: ${reason(error)}`], 1, error);
  }
}

// 64-bit numbers arrive as strings by default; all of ours are below 2^53.
const INT8 = 20;
/** The server ends its own statements; these are for a server, or a network, that went silent. */
const SILENT_MS = 5000;
const SILENT_AT_WORK_MS = 35_000;
/** Statements that may wait for others or have much to do; all the rest is a matter of milliseconds. */
const AT_WORK = /\bfor update\b|\bpg_advisory|^(create|alter|drop)\b/i;
/** What `pg` says then. */
const UNANSWERED = 'Query read timeout';

async function openServer(url: string, onError: OnDatabaseError, silentMs: number): Promise<Database> {
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    connectionTimeoutMillis: silentMs,
    statement_timeout: 30_000,
    lock_timeout: 30_000,
    keepAlive: true,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === INT8 ? Number : pg.types.getTypeParser(oid, format),
    },
  });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', (error) => onError('connection', error));
  // So would one that breaks in the moment between the pool's care and ours; the next statement on it fails.
  pool.on('connect', (client) => client.on('error', () => {}));
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool: hardened(pool, silentMs) }) });
}

/**
 * Two things the pool leaves to us. PostgreSQL has no NUL in a text: ids come from outside and may hold one, so it is
 * stored, and looked for, as U+FFFD. And a connection in use may break between two statements, or never answer: it
 * must neither end the process nor be used again.
 */
function hardened(pool: PgPool, silentMs: number): PostgresPool {
  const cleaned = (value: unknown) => (typeof value === 'string' ? value.replaceAll('\0', '\uFFFD') : value);
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      let broken: Error | undefined;
      const breaks = (error: Error) => {
        broken = error;
      };
      client.on('error', breaks);
      return Object.assign(Object.create(client) as PgClient & PostgresPoolClient, {
        query: (text: string, parameters?: readonly unknown[]) => {
          if (broken !== undefined) return Promise.reject(broken);
          const statement = {
            text,
            values: parameters?.map(cleaned) ?? [],
            query_timeout: AT_WORK.test(text) ? SILENT_AT_WORK_MS : silentMs,
          };
          const answer = client.query(statement);
          answer.catch((error: Error) => {
            if (error.message === UNANSWERED) breaks(error);
          });
          return answer;
        },
        release: (destroy?: boolean) => {
          client.release(broken ?? destroy);
          client.off('error', breaks);
        },
      });
    },
  };
}

async function migrate(db: Database): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ECONNREFUSED') return 'nothing listens at its address; is PostgreSQL running?';
  if (/not a database|malformed/.test(error.message))
    return 'the file is not a SQLite database, or it is damaged; restore a backup or move it away';
  if (/locked|busy/.test(error.message))
    return 'another process holds it; is a second Footbridge running on the same DATA_DIR?';
  return error.message.split('\n')[0] ?? 'unknown reason';
}
