import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { FileLockedError, isFileLocked, lockFile } from '@footbridge/runtime/lock-file';

import { DataDirLockedError, UnusableLockError } from '../errors.ts';

export const journalPath = (dataDir: string): string => join(dataDir, 'journal.db');
export const blueBubblesPasswordPath = (dataDir: string): string => join(dataDir, 'bluebubbles-password');
/** Names what the agent works on (I10). */
export const workMarkPath = (dataDir: string): string => join(dataDir, 'in-work');
const lockPath = (dataDir: string): string => join(dataDir, 'agent.lock');

/** Creates the data folder, readable by its owner alone. */
export function makeDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  chmodSync(dataDir, 0o700);
}

/** Locks the data folder for this process and returns a function that unlocks it. Throws a DataDirLockedError or an UnusableLockError. */
export function lockDataDir(dataDir: string): () => void {
  try {
    return lockFile(lockPath(dataDir));
  } catch (error) {
    if (error instanceof FileLockedError) throw new DataDirLockedError(dataDir, error.message, error);
    throw new UnusableLockError(lockPath(dataDir), error);
  }
}

/** Whether an agent runs in the data folder. */
export const isLocked = (dataDir: string): boolean => isFileLocked(lockPath(dataDir));
