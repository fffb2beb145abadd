import { newRequestId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { sql } from 'kysely';
import { afterEach, beforeEach } from 'vitest';

import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { createSqlJournal } from './journal-sql.ts';
import type { SqlJournal, SqlJournalDeps } from './journal-sql.ts';
import type { NewEntry } from './journal.ts';

export const HANDLE_KEYS = [Buffer.alloc(32, 1)];
export const PHONE = '+15555550100';

export interface TestNode {
  readonly journal: SqlJournal;
  isOffline: boolean;
}

export interface JournalFixture {
  database: OpenDatabase;
  clock: FakeClock;
  journal: SqlJournal;
  /** Returns an outbound message to `PHONE` with a new id. */
  readonly entry: (more?: Partial<NewEntry>) => NewEntry;
  /** Opens another journal on the same database, as a further node does. Its writes fail while it is offline. */
  readonly openNode: (more?: Partial<SqlJournalDeps>) => TestNode;
  /** Resolves with the number of rows of a table. */
  readonly count: (table: 'messages' | 'message_steps') => Promise<number>;
}

/** Opens an empty journal for each test of the enclosing `describe`. Tests read `database`, `clock` and `journal` while they run, not before. */
export function useJournal(open: () => Promise<OpenDatabase>): JournalFixture {
  const fixture = { entry, openNode, count } as JournalFixture;

  beforeEach(async () => {
    const database = await open();
    const clock = new FakeClock();
    fixture.database = database;
    fixture.clock = clock;
    fixture.journal = createSqlJournal({ database, clock, log: silentLog, handleKeys: HANDLE_KEYS });
  });
  afterEach(async () => {
    await fixture.journal.close();
    await fixture.database.close();
  });

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

  function openNode(more: Partial<SqlJournalDeps> = {}): TestNode {
    const { clock } = fixture;
    const { engine, db, commit } = fixture.database;
    const database: SqlJournalDeps['database'] = {
      engine,
      db,
      commit: (queries) => (node.isOffline ? Promise.reject(new Error('offline')) : commit(queries)),
    };
    const journal = createSqlJournal({ database, clock, log: silentLog, handleKeys: HANDLE_KEYS, ...more });
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
