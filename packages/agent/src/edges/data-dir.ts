import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { DataDirLockedError, SQLITE_BUSY, UnusableLockError, sqliteCode } from '../errors.ts';

export const journalPath = (dataDir: string): string => join(dataDir, 'journal.db');
export const blueBubblesPasswordPath = (dataDir: string): string => join(dataDir, 'bluebubbles-password');
const lockPath = (dataDir: string): string => join(dataDir, 'agent.lock');

/** Creates the data folder, readable by its owner alone. */
export function makeDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  chmodSync(dataDir, 0o700);
}

/** How long to wait for processes that check the lock: `isLocked` holds a shared lock while it reads. */
const LOCK_TIMEOUT_MS = 2000;

/**
 * Locks the data folder for this process and returns a function that unlocks it. Throws a DataDirLockedError when another
 * process still holds the lock after LOCK_TIMEOUT_MS, and an UnusableLockError when the file cannot be locked. It is a SQLite file lock:
 * the system releases it when the process dies, so it is never stale.
 */
export function lockDataDir(dataDir: string): () => void {
  const db = new DatabaseSync(lockPath(dataDir));
  try {
    db.exec(`PRAGMA busy_timeout = ${LOCK_TIMEOUT_MS}; BEGIN EXCLUSIVE`);
  } catch (error) {
    db.close();
    if (sqliteCode(error) === SQLITE_BUSY) throw new DataDirLockedError(dataDir, { cause: error });
    throw new UnusableLockError(lockPath(dataDir), error);
  }
  return () => db.close();
}

/** Whether an agent runs in the data folder. Takes a shared lock, so concurrent checks do not block each other. */
export function isLocked(dataDir: string): boolean {
  const db = new DatabaseSync(lockPath(dataDir));
  try {
    db.prepare('SELECT name FROM sqlite_schema').all();
    return false;
  } catch (error) {
    return sqliteCode(error) === SQLITE_BUSY;
  } finally {
    db.close();
  }
}
