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

/** How long the agent waits for commands that look at the lock: they share it for a moment. */
const LOOK_MS = 2000;

/**
 * Locks the data folder for this process and returns a function that unlocks it. Throws a DataDirLockedError when another
 * process holds the lock. It is a SQLite file lock: the system releases it when the process dies, so it is never stale.
 */
export function lockDataDir(dataDir: string): () => void {
  const db = new DatabaseSync(lockPath(dataDir));
  try {
    db.exec(`PRAGMA busy_timeout = ${LOOK_MS}; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE`);
  } catch (error) {
    db.close();
    throw new DataDirLockedError(dataDir, { cause: error });
  }
  return () => db.close();
}

/** Whether an agent runs in the data folder. Takes a shared lock, so commands that look at the same time do not see each other. */
export function isLocked(dataDir: string): boolean {
  const db = new DatabaseSync(lockPath(dataDir));
  try {
    db.prepare('SELECT name FROM sqlite_schema').all();
    return false;
  } catch {
    return true;
  } finally {
    db.close();
  }
}
