import { existsSync } from 'node:fs';
import { link, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { migrateSqlite } from '@footbridge/service/platform/sql/migrate';
import { giveToFolderOwner } from '@footbridge/service/platform/sql/private-file';

import type { RowsRecord } from './backup-records.ts';
import { decodeRow } from './copy-text.ts';
import { MaintenanceError } from './maintenance-error.ts';
import type { RestoreTarget, TargetShape } from './restore-target.ts';
import { syncFolder } from './sync-folder.ts';

const COMPANIONS = ['-wal', '-shm', '-journal'];

/** Loads into a new file, which replaces the current one at the end. */
export async function openSqliteTarget(file: string, shape: TargetShape): Promise<RestoreTarget> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const former = existsSync(file) ? lock(file) : undefined;
  const path = `${file}.restoring`;
  let loading: Loading | undefined;
  const close = async () => {
    loading?.close();
    await removeAll(path);
    former?.close();
  };
  try {
    await removeAll(path);
    loading = await createLoading(path, shape);
    const { load, finish } = loading;
    return {
      load: async (rows) => load(rows),
      finish,
      replace: () => replace(path, file, former !== undefined),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Loading {
  readonly load: (rows: Pick<RowsRecord, 'table' | 'text'>) => void;
  readonly finish: () => Promise<void>;
  readonly close: () => void;
}

async function createLoading(path: string, { tables, migration }: TargetShape): Promise<Loading> {
  const created = await open(path, 'wx', 0o600);
  try {
    giveToFolderOwner(created.fd, path);
  } finally {
    await created.close();
  }
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  const close = () => {
    if (database.isOpen) database.close();
  };
  try {
    // Nothing has to survive a crash before the file is complete and synced.
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -64000');
    await migrateSqlite(database, { to: migration });
    const indexes = dropIndexes(database);
    const inserts = new Map(tables.map((table) => [table.name, database.prepare(insertInto(table))]));
    return {
      load({ table, text }) {
        const insert = inserts.get(table);
        if (insert === undefined) throw new Error(`the backup has rows of an unknown table ${table}`);
        database.exec('begin');
        // The column types convert numbers.
        for (const line of text.toString('utf8').split('\n').slice(0, -1)) insert.run(...decodeRow(line));
        database.exec('commit');
      },
      async finish() {
        for (const index of indexes) database.exec(index);
        await migrateSqlite(database);
        close();
        await syncFile(path);
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Drops the indexes that belong to no constraint. Returns the statements that recreate them: that is faster than updating them with each row. */
function dropIndexes(database: DatabaseSync): string[] {
  const indexes = database
    .prepare("select name, sql from sqlite_master where type = 'index' and sql is not null")
    .all();
  for (const { name } of indexes) database.exec(`drop index "${String(name)}"`);
  return indexes.map(({ sql }) => String(sql));
}

const insertInto = ({ name, columns }: TargetShape['tables'][number]): string =>
  `insert into "${name}" (${columns.map((column) => `"${column}"`).join(', ')}) values (${columns.map(() => '?').join(', ')})`;

/** Resolves with the path under which the previous file is kept. */
async function replace(path: string, file: string, hasFormer: boolean): Promise<string | undefined> {
  const kept = `${file}.before-restore-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  if (hasFormer) {
    await link(file, kept);
    // A write-ahead log of a damaged database must not be applied to the new one.
    for (const companion of COMPANIONS)
      if (existsSync(file + companion)) await rename(file + companion, kept + companion);
  }
  await rename(path, file);
  await syncFolder(file);
  return hasFormer ? kept : undefined;
}

/**
 * Leaving WAL mode fails while another connection is open, and removes the write-ahead log. The exclusive transaction then prevents a
 * service from starting. The service enters WAL mode again at its next start.
 */
function lock(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    // A damaged database cannot be locked, and is a common reason for a restore.
    if (error instanceof Error && /not a database|malformed/.test(error.message)) return database;
    database.close();
    if (!(error instanceof Error && /locked|busy/.test(error.message))) throw error;
    throw new MaintenanceError(
      'DATABASE_IN_USE',
      `the database file ${file} is in use; nothing was changed`,
      'stop the service, then run the command again',
      error,
    );
  }
}

async function removeAll(file: string): Promise<void> {
  for (const companion of ['', ...COMPANIONS]) await rm(file + companion, { force: true });
}
