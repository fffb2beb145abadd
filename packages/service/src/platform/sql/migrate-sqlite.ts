import type { DatabaseSync } from 'node:sqlite';

import { Kysely } from 'kysely';

import { migrate } from './migrate.ts';
import type { MigrateOptions } from './migrate.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

/** Applies migrations to an open SQLite database, which stays open. */
export const migrateSqlite = (database: DatabaseSync, options: MigrateOptions = {}): Promise<void> =>
  migrate(
    new Kysely({ dialect: sqliteDialect(database, { onCheckpointError() {}, onWaiting() {} }) }),
    options,
  );
