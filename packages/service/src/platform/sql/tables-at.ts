import { DatabaseSync } from 'node:sqlite';

import { migrateSqlite } from './migrate.ts';

export interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
}

/**
 * Resolves with the tables of our schema after this migration, in order of creation: a table comes after those that it references.
 * The list comes from the migrations, not from a database, which may also contain tables of other programs.
 */
export async function tablesAt(migration: string): Promise<readonly TableShape[]> {
  const database = new DatabaseSync(':memory:');
  try {
    await migrateSqlite(database, { to: migration });
    const names = database
      .prepare(
        "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not like 'kysely_%' order by rowid",
      )
      .all();
    return names.map(({ name }) => ({
      name: String(name),
      columns: database
        .prepare('select name from pragma_table_info(?)')
        .all(String(name))
        .map((column) => String(column['name'])),
    }));
  } finally {
    database.close();
  }
}
