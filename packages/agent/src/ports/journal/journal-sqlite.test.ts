import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, describe, expect, it } from 'vitest';

import { openJournal } from './journal-sqlite.ts';
import { journalContract } from './journal.contract.ts';

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

describe('the file', () => {
  it('is for its owner alone', () => {
    openJournal(nextPath()).close();
    expect(statSync(lastPath()).mode & 0o777).toBe(0o600);
  });

  it('of a newer agent is refused, with the reason', () => {
    openJournal(nextPath()).close();
    const db = new DatabaseSync(lastPath());
    db.exec('PRAGMA user_version = 99');
    db.close();
    expect(() => openJournal(lastPath())).toThrowError(/cannot be opened/);
  });

  it('that is damaged is refused, not overwritten', () => {
    writeFileSync(nextPath(), 'this is no database, and longer than a header would be'.repeat(40));
    expect(() => openJournal(lastPath())).toThrowError(/cannot be opened/);
  });
});
