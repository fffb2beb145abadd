import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { DataDirLockedError } from '../errors.ts';

export const journalPath = (dataDir: string): string => join(dataDir, 'journal.db');
export const blueBubblesPasswordPath = (dataDir: string): string => join(dataDir, 'bluebubbles-password');
const lockPath = (dataDir: string): string => join(dataDir, 'agent.lock');

/** Creates the data folder, readable by its owner alone. */
export function makeDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  chmodSync(dataDir, 0o700);
}

/**
 * Locks the data folder for this process and returns a function that unlocks it. Throws a DataDirLockedError when another
 * process holds the lock. It is a SQLite file lock: the system releases it when the process dies, so it is never stale.
 */
export function lockDataDir(dataDir: string): () => void {
  const db = new DatabaseSync(lockPath(dataDir));
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    throw new DataDirLockedError(dataDir, { cause: error });
  }
  return () => db.close();
}

export function isLocked(dataDir: string): boolean {
  try {
    lockDataDir(dataDir)();
    return false;
  } catch (error) {
    if (error instanceof DataDirLockedError) return true;
    throw error;
  }
}
