import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, describe, expect, it } from 'vitest';

import { openJournal } from './journal-sqlite.ts';
import { journalContract } from './journal.contract.ts';
import { MIGRATIONS } from './sqlite-schema.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

let made = 0;
const nextPath = (): string => join(folder, `journal-${(made += 1)}.db`);
const lastPath = (): string => join(folder, `journal-${made}.db`);

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

  it('of a newer agent is rejected', () => {
    openJournal(nextPath()).close();
    const db = new DatabaseSync(lastPath());
    db.exec('PRAGMA user_version = 99');
    db.close();
    expect(() => openJournal(lastPath())).toThrowError(/cannot be opened/);
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

  it('is rejected, not overwritten, when it is damaged', () => {
    writeFileSync(nextPath(), 'this is not a database, and longer than its header'.repeat(40));
    expect(() => openJournal(lastPath())).toThrowError(/cannot be opened/);
  });
});
