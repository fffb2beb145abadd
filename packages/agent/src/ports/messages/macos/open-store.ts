import { closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { errorCode } from '@footbridge/runtime/error-code';
import { SQLITE_BUSY, SQLITE_CORRUPT, SQLITE_NOTADB, sqliteCode } from '@footbridge/runtime/sqlite-code';

import type { StoreProblem } from '../messages.ts';

export type OpenedStore =
  | { readonly ok: true; readonly db: DatabaseSync; readonly file: string }
  | { readonly ok: false; readonly problem: StoreProblem };

const BUSY_MS = 2_000;

const SQLITE_ERROR = 1;
const SQLITE_LOCKED = 6;
const SQLITE_IOERR = 10;
const SQLITE_CANTOPEN = 14;

/**
 * Opens the store for reading. Not with `immutable`, which would omit the rows in the write-ahead log. SQLite reports a denied and an absent
 * file in the same way, so the file is opened without SQLite first.
 */
export function openStore(path: string): OpenedStore {
  let db: DatabaseSync | undefined;
  try {
    closeSync(openSync(path, 'r'));
    if (statSync(path).size === 0) return { ok: false, problem: 'empty' };
    const file = storeFile(path);
    db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
    db.prepare('SELECT guid FROM message LIMIT 1').get();
    return { ok: true, db, file };
  } catch (error) {
    db?.close();
    // The statement is valid, so SQLITE_ERROR means that the table is missing.
    return {
      ok: false,
      problem: sqliteCode(error) === SQLITE_ERROR ? 'empty' : (problemOf(error) ?? 'corrupt'),
    };
  }
}

/** Returns an id of the file. The number of a file is never reused on the volume of a Mac; the device number changes at a restart. */
export function storeFile(path: string): string {
  return String(statSync(path, { bigint: true }).ino);
}

/** Returns what an error of the file system or of SQLite means for the store, or undefined for any other error. */
export function problemOf(error: unknown): StoreProblem | undefined {
  const code = errorCode(error);
  if (code === 'EPERM' || code === 'EACCES') return 'denied';
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'absent';
  const number = sqliteCode(error);
  if (number === SQLITE_BUSY || number === SQLITE_LOCKED) return 'locked';
  if (number === SQLITE_CANTOPEN || number === SQLITE_IOERR) return 'denied';
  return number === SQLITE_CORRUPT || number === SQLITE_NOTADB ? 'corrupt' : undefined;
}
