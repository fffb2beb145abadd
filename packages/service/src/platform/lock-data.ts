import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

import type { Lifecycle } from '@footbridge/runtime/lifecycle';
import { FileLockedError, lockFile } from '@footbridge/runtime/lock-file';

import { StartError } from './errors.ts';
import { reason } from './sql/open-database.ts';
import type { DatabaseConfig } from './sql/settings.ts';
import { makePrivate } from './sql/private-file.ts';

/**
 * Locks the data folder and the SQLite files for the life of this process: two services on the same data would both send each text, and
 * use up each other's refresh tokens. Throws StartError.
 */
export function lockData(
  dataDir: string,
  databases: Iterable<DatabaseConfig>,
  life: Pick<Lifecycle, 'add'>,
): void {
  life.add('lock', lock(`DATA_DIR ${dataDir}`, join(dataDir, 'service.lock')));
  for (const database of databases) {
    if (database.engine === 'postgres' || database.file === ':memory:') continue;
    const file = existsSync(database.file) ? realpathSync(database.file) : database.file;
    life.add('lock', lock(`the database file ${file}`, `${file}.lock`));
  }
}

function lock(what: string, file: string): () => void {
  try {
    makePrivate(file);
  } catch (error) {
    // Where this process cannot create a file, the part that needs one reports the reason.
    if (!existsSync(file)) return () => {};
    throw unusable(file, error);
  }
  try {
    return lockFile(file);
  } catch (error) {
    if (!(error instanceof FileLockedError)) throw unusable(file, error);
    const next = 'stop that one first, or give this one its own DATA_DIR and database';
    throw new StartError([`another Footbridge uses ${what} (${error.message}); ${next}`], 1, error);
  }
}

const unusable = (file: string, error: unknown) =>
  new StartError([`${file}, which contains no data, cannot be locked: ${reason(error)}`], 1, error);
