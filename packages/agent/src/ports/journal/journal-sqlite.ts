import { chmodSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import type { Journal } from './journal.ts';
import { sqliteInbox } from './sqlite-inbox.ts';
import { sqliteJobs } from './sqlite-jobs.ts';
import { sqliteOutbox } from './sqlite-outbox.ts';
import { MIGRATIONS } from './sqlite-schema.ts';

/** Opens the journal in a SQLite file that only its owner can read, or in memory with `:memory:`. */
export function openJournal(path: string): Journal {
  const db = new DatabaseSync(path);
  try {
    // NORMAL keeps every commit when the process dies. `durableTransaction` adds the fsync that a power cut needs; on
    // macOS an fsync reaches the disk only with fullfsync.
    db.exec(
      `PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA fullfsync = ON;
       PRAGMA secure_delete = ON`,
    );
    if (path !== ':memory:') chmodSync(path, 0o600);
    migrate(db);
  } catch (error) {
    db.close();
    throw new Error(`The journal at ${path} cannot be opened. Check for a full disk or a damaged file.`, {
      cause: error,
    });
  }
  return createJournal(db);
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
    },
    inbox,
    ...notes,
    transaction,
    durableTransaction,
    prune: (before) =>
      transaction(() => {
        jobs.prune(before);
        outbox.prune(before);
        inbox.prune(before);
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

function migrate(db: DatabaseSync): void {
  // The version is read under the write lock: another process may be migrating. The caller closes the database after an error.
  db.exec('BEGIN IMMEDIATE');
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  if (version > MIGRATIONS.length) {
    throw new Error(
      `The journal has schema version ${version}, this agent supports ${MIGRATIONS.length}: update the agent`,
    );
  }
  for (const sql of MIGRATIONS.slice(version)) db.exec(sql);
  // Writing the same version again would fail on a full disk.
  if (version < MIGRATIONS.length) db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
  db.exec('COMMIT');
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
