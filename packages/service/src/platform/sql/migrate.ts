import { Migrator } from 'kysely/migration';
import type { Migration } from 'kysely/migration';
import type { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { MIGRATIONS } from './migrations.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

export interface MigrateOptions {
  /** The last migration to apply. Default: all. */
  readonly to?: string;
  /** The PostgreSQL schema that the connection uses. Default: the one that the server chooses. */
  readonly schema?: string;
  readonly migrations?: Readonly<Record<string, Migration>>;
}

/** Applies migrations in one transaction: an interrupted run leaves the tables as they were. */
export async function migrate<Tables>(
  db: Kysely<Tables>,
  { to, schema, migrations = MIGRATIONS }: MigrateOptions = {},
): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    ...(schema !== undefined && { migrationTableSchema: schema }),
  });
  const { error } = await (to === undefined ? migrator.migrateToLatest() : migrator.migrateTo(to));
  if (error !== undefined) throw error;
}

export interface MigrationDifference {
  readonly pending: readonly string[];
  /** Applied by a newer version. */
  readonly unknown: readonly string[];
}

export const compareMigrations = (applied: readonly string[]): MigrationDifference => ({
  pending: Object.keys(MIGRATIONS).filter((name) => !applied.includes(name)),
  unknown: applied.filter((name) => !Object.hasOwn(MIGRATIONS, name)),
});

/** Applies migrations to an open SQLite database, which stays open. */
export const migrateSqlite = (database: DatabaseSync, options: MigrateOptions = {}): Promise<void> =>
  migrate(
    new Kysely({ dialect: sqliteDialect(database, { onCheckpointError() {}, onWaiting() {} }) }),
    options,
  );
