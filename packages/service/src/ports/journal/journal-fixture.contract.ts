import { newRequestId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { sql } from 'kysely';
import { afterEach, beforeEach } from 'vitest';

import type { OpenDatabase } from '../../sql/open-database.ts';
import { createSqlJournal } from './journal-sql.ts';
import type { SqlJournal } from './journal-sql.ts';
import type { NewEntry } from './journal.ts';

export const HANDLE_KEYS = [Buffer.alloc(32, 1)];
export const PHONE = '+15555550100';

export interface JournalFixture {
  database: OpenDatabase;
  clock: FakeClock;
  journal: SqlJournal;
  /** Returns an outbound message to `PHONE` with a new id. */
  readonly entry: (more?: Partial<NewEntry>) => NewEntry;
  /** Resolves with the number of rows of a table. */
  readonly count: (table: 'messages' | 'message_steps') => Promise<number>;
}

/** Opens an empty journal for each test of the enclosing `describe`. Tests read `database`, `clock` and `journal` while they run, not before. */
export function useJournal(open: () => Promise<OpenDatabase>): JournalFixture {
  const fixture = { entry, count } as JournalFixture;

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

  async function count(table: 'messages' | 'message_steps'): Promise<number> {
    const { rows } = await sql<{
      n: number;
    }>`select cast(count(*) as bigint) as n from ${sql.table(table)}`.execute(fixture.database.db);
    return Number(rows[0]?.n);
  }

  return fixture;
}
