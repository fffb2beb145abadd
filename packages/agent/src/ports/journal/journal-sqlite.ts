import { chmodSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { inboxTable } from './sqlite-inbox.ts';
import { jobsTable } from './sqlite-jobs.ts';
import type { Journal } from './journal.ts';
import { outboxTable } from './sqlite-outbox.ts';
import { MIGRATIONS } from './sqlite-schema.ts';

/** The journal in one SQLite file, readable by its owner alone. `:memory:` forgets everything with the process. */
export function openJournal(path: string): Journal {
  const db = new DatabaseSync(path);
  try {
    // NORMAL keeps every commit when the process dies; `durably` adds the flush that a power cut needs. On macOS a
    // flush reaches the disk only with fullfsync.
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA fullfsync = ON; PRAGMA busy_timeout = 5000;
       PRAGMA secure_delete = ON`,
    );
    if (path !== ':memory:') chmodSync(path, 0o600);
    migrate(db);
  } catch (error) {
    db.close();
    throw new Error(`The journal at ${path} cannot be opened; is the disk full or the file damaged?`, {
      cause: error,
    });
  }
  return createJournal(db);
}

function createJournal(db: DatabaseSync): Journal {
  const putNote = db.prepare(
    'INSERT INTO note (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
  const getNote = db.prepare('SELECT value FROM note WHERE name = ?');
  const jobs = jobsTable(db);
  const outbox = outboxTable(db);
  const inbox = inboxTable(db, (name) => textOf(getNote.get(name)?.['value']), note);
  let depth = 0;

  function note(name: string, value: string): void {
    putNote.run(name, value);
  }

  function atomically<T>(work: () => T): T {
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

  function durably<T>(work: () => T): T {
    // Inside of a transaction the pragma has no effect: whoever began it decides.
    if (depth > 0) return work();
    db.exec('PRAGMA synchronous = FULL');
    try {
      return atomically(work);
    } finally {
      db.exec('PRAGMA synchronous = NORMAL');
    }
  }

  return {
    jobs: {
      ...jobs,
      takeUnanswered: (key) => atomically(() => jobs.takeUnanswered(key)),
      beginStep: (key, step, watermark) => durably(() => jobs.beginStep(key, step, watermark)),
    },
    outbox: {
      ...outbox,
      put: (frame, now) => durably(() => outbox.put(frame, now)),
      redeliver: (seq, now) => durably(() => outbox.redeliver(seq, now)),
    },
    inbox,
    atomically,
    durably,
    note,
    noted: (name) => textOf(getNote.get(name)?.['value']),
    forget: (before) =>
      atomically(() => {
        jobs.forget(before);
        outbox.forget(before);
        inbox.forget(before);
      }),
    // Old pages wait in the write-ahead file, texts among them, until it is written back and cut off.
    sweep: () => db.exec('PRAGMA wal_checkpoint(TRUNCATE)'),
    close: () => {
      if (db.isOpen) db.close();
    },
  };
}

function migrate(db: DatabaseSync): void {
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  if (version > MIGRATIONS.length) {
    throw new Error(
      `its version is ${version}, this agent knows up to ${MIGRATIONS.length}: update the agent`,
    );
  }
  for (const [index, sql] of MIGRATIONS.entries()) {
    if (index < version) continue;
    db.exec(`BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = ${index + 1}; COMMIT`);
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
