import { pipeline } from 'node:stream/promises';

import { migrate } from '@footbridge/service/platform/sql/migrate';
import { lockOutServices } from '@footbridge/service/platform/sql/postgres-in-use';
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

import { connect } from './connect-postgres.ts';
import { MaintenanceError } from './maintenance-error.ts';
import type { RestoreTarget, TargetShape } from './restore-target.ts';

/** The schema in which the tables are loaded before they move to the schema of the service. */
const LOADING = 'footbridge_restoring';
const LOCK_TIMEOUT = "set local lock_timeout = '10s'";
/** PostgreSQL text cannot contain NUL; the service stores U+FFFD instead. */
const NUL = /\0/g;

export async function openPostgresTarget(
  url: string,
  shape: TargetShape,
  ours: readonly string[],
): Promise<RestoreTarget> {
  const client = await connect(url);
  try {
    if (!(await lockOutServices(client)))
      throw new MaintenanceError(
        'DATABASE_IN_USE',
        'a service is using the PostgreSQL database; nothing was changed',
        'stop every node, then run the command again',
      );
    const schema = await currentSchema(client);
    await client.query(`drop schema if exists ${LOADING} cascade; create schema ${LOADING}`);
    await client.query(`set search_path to ${LOADING}`);
    await migrateLoading(url, shape.migration);
    return await target(client, url, schema, shape, ours);
  } catch (error) {
    await client.end();
    throw error;
  }
}

async function target(
  client: pg.Client,
  url: string,
  schema: string,
  { tables }: TargetShape,
  ours: readonly string[],
): Promise<RestoreTarget> {
  const columnsOf = new Map(tables.map(({ name, columns }) => [name, columns]));
  const indexes = await dropIndexes(client);
  return {
    async load({ table, text }) {
      const columns = columnsOf.get(table);
      if (columns === undefined) throw new Error(`the backup has rows of an unknown table ${table}`);
      const list = columns.map((column) => `"${column}"`).join(', ');
      const rows = text.includes(0) ? Buffer.from(text.toString('utf8').replaceAll(NUL, '\uFFFD')) : text;
      await pipeline([rows], client.query(copyFrom(`copy "${table}" (${list}) from stdin`)));
    },
    async finish() {
      for (const index of indexes) await client.query(index);
      await migrateLoading(url);
      for (const name of await tablesIn(client, LOADING)) {
        await continueIdentity(client, name);
        await client.query(`analyze "${name}"`);
      }
    },
    async replace() {
      await client.query('begin');
      await client.query(LOCK_TIMEOUT);
      for (const name of [...ours.toReversed(), 'kysely_migration', 'kysely_migration_lock'])
        await client.query(`drop table if exists ${schema}."${name}"`);
      for (const name of await tablesIn(client, LOADING))
        await client.query(`alter table ${LOADING}."${name}" set schema ${schema}`);
      await client.query(`drop schema ${LOADING}`);
      await client.query('commit');
      return undefined;
    },
    async close() {
      try {
        await client.query('rollback');
        await client.query(`drop schema if exists ${LOADING} cascade`);
      } catch {
        // The connection is lost. The caller reports its own error, and the next restore drops the schema.
      }
      await client.end();
    },
  };
}

async function currentSchema(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ name: string | null }>(
    'select quote_ident(current_schema()) as name',
  );
  const name = rows[0]?.name;
  if (typeof name === 'string') return name;
  throw new MaintenanceError(
    'DATABASE_UNUSABLE',
    'the search_path of the PostgreSQL user contains no existing schema',
    'create the schema, for example public',
  );
}

/** Runs the migrations on a separate connection, in the loading schema. */
async function migrateLoading(url: string, to?: string): Promise<void> {
  const dialect = new PostgresDialect({
    pool: new pg.Pool({ connectionString: url, max: 1 }),
    async onCreateConnection(connection) {
      await connection.executeQuery(CompiledQuery.raw(`set search_path to ${LOADING}`));
    },
  });
  const db = new Kysely({ dialect });
  try {
    await migrate(db, { schema: LOADING, ...(to !== undefined && { to }) });
  } finally {
    await db.destroy();
  }
}

/** Drops the indexes that belong to no constraint. Returns the statements that recreate them: that is faster than updating them with each row. */
async function dropIndexes(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where schemaname = $1 and tablename not like 'kysely_%'
       and indexname not in (select conname from pg_constraint)`,
    [LOADING],
  );
  for (const { name } of rows) await client.query(`drop index "${name}"`);
  return rows.map(({ definition }) => definition);
}

async function tablesIn(client: pg.Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = $1',
    [schema],
  );
  return rows.map(({ name }) => name);
}

/** Sets the sequences of a table so that generated ids continue after the highest loaded one. */
async function continueIdentity(client: pg.Client, table: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select column_name as name from information_schema.columns
     where table_schema = $1 and table_name = $2 and is_identity = 'YES'`,
    [LOADING, table],
  );
  for (const { name } of rows)
    await client.query(
      `select setval(pg_get_serial_sequence('${LOADING}."${table}"', '${name}'), coalesce(max("${name}"), 0) + 1, false) from "${table}"`,
    );
}
