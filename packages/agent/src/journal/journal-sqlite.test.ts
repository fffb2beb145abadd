import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, describe, expect, it } from 'vitest';

import { JournalTooNewError, JournalTooOldError } from '../errors.ts';
import { openJournal, openJournalAsIs } from './journal-sqlite.ts';
import type { Journal } from './journal.ts';
import { journalContract } from './journal.contract.ts';
import { MIGRATIONS, OLDEST_USABLE_VERSION } from './sqlite-schema.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

let made = 0;
const nextPath = (): string => join(folder, `journal-${(made += 1)}.db`);
const lastPath = (): string => join(folder, `journal-${made}.db`);

/** Writes a journal as an agent with an older schema leaves it. */
function olderJournal(version: number): DatabaseSync {
  const db = new DatabaseSync(nextPath());
  db.exec(
    `PRAGMA journal_mode = WAL; ${MIGRATIONS.slice(0, version).join(';')}; PRAGMA user_version = ${version}`,
  );
  return db;
}

/** Opens a journal in other processes, all at the same time, and resolves with what they wrote to standard error. */
async function openInProcesses(count: number, path: string, whileOpening = () => Promise.resolve()) {
  const program = `
    import { once } from 'node:events';
    import { openJournal } from ${JSON.stringify(import.meta.resolve('./journal-sqlite.ts'))};
    process.send('ready');
    await once(process, 'message');
    process.send('opening');
    openJournal(${JSON.stringify(path)}).close();
    process.disconnect();`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] }),
  );
  const errors = children.map(async ({ stderr }) => await stderr?.toArray());
  await Promise.all(children.map((child) => once(child, 'message')));
  const opening = children.map((child) => once(child, 'message'));
  for (const child of children) child.send('open');
  await Promise.all(opening);
  await whileOpening();
  return (await Promise.all(errors)).flat().join('');
}

describe('the journal in a file', () => {
  journalContract(
    () => openJournal(nextPath()),
    () => openJournal(lastPath()),
  );
});

describe('the journal in memory', () => {
  journalContract(() => openJournal(':memory:'));
});

describe('the journal file', () => {
  it('is readable by its owner alone', () => {
    openJournal(nextPath()).close();
    expect(statSync(lastPath()).mode & 0o777).toBe(0o600);
  });

  it('of a newer agent is rejected with an error of its own, and not changed', () => {
    openJournal(nextPath()).close();
    const db = new DatabaseSync(lastPath());
    db.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
    db.close();
    const before = readFileSync(lastPath());
    for (const open of [openJournal, openJournalAsIs])
      expect(() => open(lastPath())).toThrowError(JournalTooNewError);
    expect(readFileSync(lastPath())).toEqual(before);
  });

  it.each(MIGRATIONS.map((_sql, index) => index + 1).filter((version) => version >= OLDEST_USABLE_VERSION))(
    'of schema version %i is read and emptied as it is',
    (version) => {
      const db = olderJournal(version);
      db.exec(
        `INSERT INTO job (key, fingerprint, state, changed_at) VALUES ('a', 'print', 'queued', 1);
         INSERT INTO outbox (state, frame, changed_at) VALUES ('waiting', '', 1);
         INSERT INTO pending_row (guid, since) VALUES ('G', 1); INSERT INTO note VALUES ('link', 'up')`,
      );
      const contentOf = ({ jobs, outbox, inbox }: Journal) => [
        jobs.pendingCount(),
        outbox.counts().unacknowledged,
        inbox.pending().length,
      ];
      const reader = openJournalAsIs(lastPath(), { readOnly: true });
      expect([...contentOf(reader), reader.note('link')]).toEqual([1, 1, 1, 'up']);
      expect(() => reader.setNote('link', 'down')).toThrowError(/readonly/);
      reader.close();
      const writer = openJournalAsIs(lastPath());
      writer.durableTransaction(() => writer.empty());
      writer.setNote('link', 'down');
      expect([...contentOf(writer), writer.note('link')]).toEqual([0, 0, 0, 'down']);
      writer.close();
      expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: version });
      db.close();
    },
  );

  it.each([0, 1])('of schema version %i is not opened as it is', (version) => {
    olderJournal(version).close();
    expect(() => openJournalAsIs(lastPath())).toThrowError(JournalTooOldError);
    openJournal(lastPath()).close();
    openJournalAsIs(lastPath()).close();
  });

  it('of the first version keeps its pending rows', () => {
    const db = new DatabaseSync(nextPath());
    db.exec(`${MIGRATIONS[0]}; PRAGMA user_version = 1`);
    db.exec("INSERT INTO held (rowid_in_store, guid, held_since) VALUES (9, 'B', 2), (4, 'A', 1)");
    db.close();
    const journal = openJournal(lastPath());
    expect(journal.inbox.pending()).toEqual([
      { guid: 'A', since: 1 },
      { guid: 'B', since: 2 },
    ]);
    journal.close();
  });

  it('is upgraded once when another process upgrades it at the same time', async () => {
    const other = olderJournal(MIGRATIONS.length - 1);
    other.exec('BEGIN IMMEDIATE');
    const errors = await openInProcesses(1, lastPath(), async () => {
      await sleep(300);
      other.exec(`${MIGRATIONS.at(-1)}; PRAGMA user_version = ${MIGRATIONS.length}; COMMIT`);
    });
    other.close();
    expect(errors).toBe('');
  });

  it('of the first version is upgraded once when several processes open it at the same time', async () => {
    olderJournal(1).close();
    expect(await openInProcesses(4, lastPath())).toBe('');
  });

  it('is rejected, not overwritten, when it is damaged', () => {
    writeFileSync(nextPath(), 'this is not a database, and longer than its header'.repeat(40));
    expect(() => openJournal(lastPath())).toThrowError(/cannot be opened/);
  });
});
