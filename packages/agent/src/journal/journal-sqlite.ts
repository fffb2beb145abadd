import { chmodSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { ConfigurationError, JournalTooNewError, JournalTooOldError } from '../errors.ts';
import type { Journal } from './journal.ts';
import { sqliteDeaths } from './sqlite-deaths.ts';
import { sqliteInbox } from './sqlite-inbox.ts';
import { sqliteJobs } from './sqlite-jobs.ts';
import { sqliteOutbox } from './sqlite-outbox.ts';
import { MIGRATIONS, OLDEST_USABLE_VERSION } from './sqlite-schema.ts';

/**
 * Opens the journal in a SQLite file that only its owner can read, or in memory with `:memory:`, and migrates it to the schema of this
 * version. Throws a JournalTooNewError when a newer version has migrated it.
 */
export function openJournal(path: string): Journal {
  return open(path, new DatabaseSync(path), (db) => {
    db.exec('PRAGMA journal_mode = WAL');
    if (path !== ':memory:') chmodSync(path, 0o600);
    migrate(db, path);
  });
}

/**
 * Opens the journal of an installed agent, which may be older than this program and may be running. The schema is not migrated, because
 * the older agent could not open the journal any more. Use only what an older schema has: the counts, `pending`, notes and `empty`.
 * With `readOnly`, methods that write throw. Throws a JournalTooNewError or a JournalTooOldError when the schema is unknown or too old.
 */
export function openJournalAsIs(path: string, { readOnly = false } = {}): Journal {
  return open(path, new DatabaseSync(path, { readOnly }), (db) => {
    if (versionOf(db, path) < OLDEST_USABLE_VERSION) throw new JournalTooOldError(path);
  });
}

function open(path: string, db: DatabaseSync, check: (db: DatabaseSync) => void): Journal {
  try {
    // NORMAL keeps every commit when the process dies. `durableTransaction` adds the fsync that a power cut needs; on
    // macOS an fsync reaches the disk only with fullfsync.
    db.exec(
      `PRAGMA busy_timeout = 5000; PRAGMA synchronous = NORMAL; PRAGMA fullfsync = ON; PRAGMA secure_delete = ON`,
    );
    check(db);
    return createJournal(db);
  } catch (error) {
    db.close();
    if (error instanceof ConfigurationError) throw error;
    throw new Error(`The journal at ${path} cannot be opened. Check for a full disk or a damaged file.`, {
      cause: error,
    });
  }
}

function createJournal(db: DatabaseSync): Journal {
  const setNote = db.prepare(
    'INSERT INTO note (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
  const getNote = db.prepare('SELECT value FROM note WHERE name = ?');
  const notes = {
    note: (name: string) => textOf(getNote.get(name)?.['value']),
    setNote: (name: string, value: string) => void setNote.run(name, value),
  };
  const jobs = sqliteJobs(db);
  const outbox = sqliteOutbox(db);
  const inbox = sqliteInbox(db, notes);
  const deaths = sqliteDeaths(db);
  let depth = 0;

  function transaction<T>(work: () => T): T {
    if (depth > 0) return work();
    db.exec('BEGIN IMMEDIATE');
    depth += 1;
    try {
      const result = work();
      db.exec('COMMIT');
      return result;
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    } finally {
      depth -= 1;
    }
  }

  function durableTransaction<T>(work: () => T): T {
    // The pragma has no effect inside a transaction: the outermost one decides.
    if (depth > 0) return work();
    db.exec('PRAGMA synchronous = FULL');
    try {
      return transaction(work);
    } finally {
      db.exec('PRAGMA synchronous = NORMAL');
    }
  }

  return {
    jobs: {
      ...jobs,
      takeUnanswered: (key) => transaction(() => jobs.takeUnanswered(key)),
      beginStep: (...step) => durableTransaction(() => jobs.beginStep(...step)),
    },
    outbox: {
      ...outbox,
      put: (frame, now) => durableTransaction(() => outbox.put(frame, now)),
      redeliver: (seq, now) => durableTransaction(() => outbox.redeliver(seq, now)),
      takeSetAside: (seq, take) => durableTransaction(() => outbox.takeSetAside(seq, take)),
    },
    inbox,
    deaths,
    ...notes,
    transaction,
    durableTransaction,
    prune: (before) =>
      transaction(() => {
        jobs.prune(before);
        outbox.prune(before);
        inbox.prune(before);
        deaths.prune(before);
      }),
    empty: () =>
      transaction(() => {
        for (const table of ['job', 'request', 'step', 'outbox', 'pending_row'])
          db.exec(`DELETE FROM ${table}`);
        inbox.forgetCursor();
      }),
    walCheckpoint: () => db.exec('PRAGMA wal_checkpoint(TRUNCATE)'),
    close: () => {
      if (db.isOpen) db.close();
    },
  };
}

function migrate(db: DatabaseSync, path: string): void {
  if (versionOf(db, path) === MIGRATIONS.length) return;
  // The version is read again under the write lock, because another process may be migrating. After an error, the caller closes the database.
  db.exec('BEGIN IMMEDIATE');
  for (const sql of MIGRATIONS.slice(versionOf(db, path))) db.exec(sql);
  db.exec(`PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
}

function versionOf(db: DatabaseSync, path: string): number {
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  if (version > MIGRATIONS.length) throw new JournalTooNewError(path);
  return version;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
