import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { DatabaseSync } from 'node:sqlite';

import { SQLITE_BUSY, sqliteCode } from './sqlite-code.ts';

/** How long to wait for processes that check the lock: `isFileLocked` holds a shared lock while it reads. */
const TIMEOUT_MS = 2000;

/** Another process holds the lock. The message names it, if it is known: "process 123". */
export class FileLockedError extends Error {
  override readonly name = 'FileLockedError';
}

/**
 * Locks a file for this process and returns a function that unlocks it. Throws a FileLockedError when another process still holds the lock
 * after TIMEOUT_MS. It is a SQLite file lock: the system releases it when the process dies, so it is never stale.
 */
export function lockFile(path: string): () => void {
  const db = new DatabaseSync(path);
  try {
    // A journal in memory: the lock writes nothing, so it can also be taken on a full disk.
    db.exec(`PRAGMA busy_timeout = ${TIMEOUT_MS}; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE`);
  } catch (error) {
    db.close();
    if (sqliteCode(error) === SQLITE_BUSY) throw new FileLockedError(holderOf(path), { cause: error });
    throw error;
  }
  nameHolder(path);
  return () => {
    rmSync(holderFile(path), { force: true });
    db.close();
  };
}

/** Whether a process has locked the file. Takes a shared lock, so concurrent checks do not block each other. */
export function isFileLocked(path: string): boolean {
  const db = new DatabaseSync(path);
  try {
    db.prepare('SELECT name FROM sqlite_schema').all();
    return false;
  } catch (error) {
    return sqliteCode(error) === SQLITE_BUSY;
  } finally {
    db.close();
  }
}

/** A file of its own: opening and closing the locked one would release the lock. */
const holderFile = (path: string) => `${path}.pid`;

function nameHolder(path: string): void {
  try {
    // The earlier one may belong to another user.
    rmSync(holderFile(path), { force: true });
    writeFileSync(holderFile(path), `${process.pid} ${hostname()}\n`, { mode: 0o600 });
  } catch {
    // For example on a full disk. The lock is held all the same.
  }
}

/** The number of a process in another container says nothing without its host. */
function holderOf(path: string): string {
  try {
    const [pid, host] = readFileSync(holderFile(path), 'utf8').trim().split(' ');
    return host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
  } catch {
    return 'another process';
  }
}
