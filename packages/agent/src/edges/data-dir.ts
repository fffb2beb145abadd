import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export const journalPath = (dataDir: string): string => join(dataDir, 'journal.db');
const lockPath = (dataDir: string): string => join(dataDir, 'agent.lock');

/** Two agents on one journal would send everything twice. */
export class AlreadyRunning extends Error {
  override readonly name = 'AlreadyRunning';
  constructor(dataDir: string) {
    super(`Another agent is running with ${dataDir}; stop it first, or give --data-dir another folder`);
  }
}

export function makeDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  chmodSync(dataDir, 0o700);
}

/**
 * Takes the folder for this process. The lock is SQLite's own on a file: the system drops it with the process, however
 * that dies, so there is no stale lock and no process id to mistake.
 */
export function lockDataDir(dataDir: string): () => void {
  const db = new DatabaseSync(lockPath(dataDir));
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    throw Object.assign(new AlreadyRunning(dataDir), { cause: error });
  }
  return () => db.close();
}

export function isLocked(dataDir: string): boolean {
  try {
    lockDataDir(dataDir)();
    return false;
  } catch (error) {
    if (error instanceof AlreadyRunning) return true;
    throw error;
  }
}
