import { accessSync, constants } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { isDiskFull } from '@footbridge/service/platform/errors';
import { reason } from '@footbridge/service/platform/sql/open-database';

import { encodeRow } from './copy-text.ts';
import { MaintenanceError, writeError } from './maintenance-error.ts';
import type { RowsPiece, Snapshot } from './snapshot.ts';

const PIECE_CHARACTERS = 1_000_000;

/** Opens a read transaction in WAL mode, which does not block writers. */
export async function openSqliteSnapshot(file: string): Promise<Snapshot> {
  checkAccess(file);
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA busy_timeout = 5000; PRAGMA query_only = ON; BEGIN');
    return { ...read(database), close: async () => database.close() };
  } catch (error) {
    database.close();
    if (isDiskFull(error)) throw writeError(error, file);
    throw new MaintenanceError(
      'DATABASE_UNUSABLE',
      `the database file ${file} cannot be read: ${reason(error)}`,
      'restore a backup, or check that this is the file of the service',
      error,
    );
  }
}

function checkAccess(file: string): void {
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EACCES')
      throw new MaintenanceError(
        'DATABASE_UNUSABLE',
        `this user has no permission to read the database file ${file}`,
        'run this as the service user or as root',
        error,
      );
    throw new MaintenanceError(
      'FILE_NOT_FOUND',
      `the database file ${file} does not exist`,
      'run this in the folder of the service, with its settings (DATA_DIR, DATABASE_URL)',
      error,
    );
  }
}

function read(database: DatabaseSync): Pick<Snapshot, 'migrations' | 'rows'> {
  const has = database.prepare("select 1 from sqlite_master where name = 'kysely_migration'").get();
  const applied =
    has === undefined ? [] : database.prepare('select name from kysely_migration order by name').all();
  return {
    migrations: applied.map(({ name }) => String(name)),
    async *rows({ name, columns }): AsyncIterable<RowsPiece> {
      const select = database.prepare(`select ${columns.map(quoted).join(', ')} from ${quoted(name)}`);
      select.setReturnArrays(true);
      let text = '';
      let rows = 0;
      for (const row of select.iterate()) {
        text += encodeRow(row as unknown as Parameters<typeof encodeRow>[0]);
        rows++;
        if (text.length < PIECE_CHARACTERS) continue;
        yield { text: Buffer.from(text), rows };
        text = '';
        rows = 0;
      }
      if (rows > 0) yield { text: Buffer.from(text), rows };
    },
  };
}

const quoted = (name: string) => `"${name}"`;
