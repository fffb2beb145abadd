import { newRequestId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { sql } from 'kysely';
import { afterEach, beforeEach } from 'vitest';

import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { createJournal } from './journal-sql.ts';
import type { Journal, JournalDeps } from './journal-sql.ts';
import type { NewEntry } from './journal.ts';

export const HANDLE_KEYS = [Buffer.alloc(32, 1)];
export const PHONE = '+15555550100';

export interface TestNode {
  readonly journal: Journal;
  isOffline: boolean;
}

export interface JournalFixture {
  database: OpenDatabase;
  clock: FakeClock;
  journal: Journal;
  /** Returns an outbound message to `PHONE` with a new id. */
  readonly entry: (more?: Partial<NewEntry>) => NewEntry;
  /** Opens another journal on the same database, as a further node does. Its writes fail while it is offline. */
  readonly openNode: (more?: Partial<JournalDeps>) => TestNode;
  /** Resolves with the number of rows of a table. */
  readonly count: (table: 'messages' | 'message_steps') => Promise<number>;
}

/** Opens an empty journal for each test, in SQLite and in PostgreSQL. Tests read `database`, `clock` and `journal` while they run, not before. */
export function onJournals(what: string, tests: (fixture: JournalFixture) => void): void {
  onBothDatabases(what, (open) => tests(useJournal(open)));
}

function useJournal(open: () => Promise<OpenDatabase>): JournalFixture {
  const fixture = { entry, openNode, count } as JournalFixture;

  beforeEach(async () => {
    const database = await open();
    const clock = new FakeClock();
    fixture.database = database;
    fixture.clock = clock;
    fixture.journal = createJournal({ database, clock, log: silentLog, handleKeys: HANDLE_KEYS });
  });
  afterEach(() => fixture.journal.close());

  function entry(more: Partial<NewEntry> = {}): NewEntry {
    return {
      id: newRequestId(fixture.clock.now()),
      direction: 'outbound',
      locationId: 'loc1',
      messageId: 'msg1',
      kind: 'text',
      handle: PHONE,
      contactId: null,
      length: 12,
      ...more,
    };
  }

  function openNode(more: Partial<JournalDeps> = {}): TestNode {
    const { clock } = fixture;
    const { engine, db, commit } = fixture.database;
    const database: JournalDeps['database'] = {
      engine,
      db,
      commit: (queries) => (node.isOffline ? Promise.reject(new Error('offline')) : commit(queries)),
    };
    const journal = createJournal({ database, clock, log: silentLog, handleKeys: HANDLE_KEYS, ...more });
    const node = { journal, isOffline: false };
    return node;
  }

  async function count(table: 'messages' | 'message_steps'): Promise<number> {
    const { rows } = await sql<{
      n: number;
    }>`select cast(count(*) as bigint) as n from ${sql.table(table)}`.execute(fixture.database.db);
    return Number(rows[0]?.n);
  }

  return fixture;
}
