import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { createQueryId } from 'kysely';
import type { RootOperationNode } from 'kysely';
import { describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import { HANDLE_KEYS, PHONE } from './journal.fixture.ts';
import { createJournal } from './journal-sql.ts';
import type { Journal } from './journal-sql.ts';
import type { MessageQuery } from './journal.ts';

const ignore = () => {};
const CURSOR = Buffer.from('1 id').toString('base64url');
const EVERY_FILTER = {
  locationIds: ['loc1'],
  state: 'failed',
  code: 'TIMEOUT',
  kind: 'sticker',
  direction: 'inbound',
  from: 1,
  until: 2,
} as const;

describe('T54 SQLite', () => {
  it('reads the newest messages of each location from the index', async () => {
    const plans = await plansOf(async (journal) => {
      await journal.list({ limit: 10, locationIds: ['loc1', 'loc2'] });
      await journal.newest({ limit: 10, locationIds: ['loc1', 'loc2'] });
    });
    expect(plans).toHaveLength(2);
    for (const plan of plans) {
      expect(plan.match(/USING INDEX messages_location \(location_id=\?\)/g)).toHaveLength(2);
      expect(plan.match(/FOR LAST TERM OF ORDER BY/g)).toHaveLength(2);
    }
  });

  it.each<[string, Partial<MessageQuery>]>([
    ['with any property', {}],
    ['of locations', { locationIds: ['loc1', 'loc2'] }],
    ['in a rare state', { state: 'failed' }],
    ['in a common state', { state: 'delivered' }],
    ['with a code', { code: 'TIMEOUT' }],
    ['of a rare kind', { kind: 'sticker' }],
    ['in one direction', { direction: 'inbound' }],
    ['of a period', { from: 1, until: 2 }],
    ['on the next page', { cursor: CURSOR }],
    ['of a location on the next page', { locationIds: ['loc1'], cursor: CURSOR }],
    ['with many properties', { ...EVERY_FILTER, cursor: CURSOR }],
  ])('reads the newest messages of a person %s from the index of each block', async (_, filter) => {
    for (const person of [{ handles: [PHONE] }, { contactId: 'contact-1' }]) {
      const [plan = ''] = await plansOf((journal) => journal.list({ limit: 10, ...person, ...filter }));
      const column = 'handles' in person ? 'phone_hash' : 'contact_hash';
      // Once for the time of the last message, and once for the messages.
      const reads = readsIn(plan);
      expect(reads).toHaveLength(2);
      for (const read of reads) expect(read).toContain(`messages_${column} (block=? AND ${column}=?`);
    }
  });

  it('finds all messages of a person with the index of each block', async () => {
    const plans = await plansOf((journal) => {
      const entry = { id: 'one', direction: 'outbound', locationId: 'loc', messageId: null } as const;
      const person = { handle: PHONE, contactId: 'contact-1' };
      journal.open({ ...entry, ...person, kind: 'text', length: 1 }, 'accepted');
      return journal.erase({ handles: [PHONE] });
    }, /INDEXED BY|"phone_hash" is null/);
    const reads = plans.flatMap(readsIn);
    expect(reads).toHaveLength(3);
    for (const read of reads.slice(0, 2))
      expect(read).toContain('messages_phone_hash (block=? AND phone_hash=?');
    expect(reads[2]).toContain('messages_numberless (contact_hash=?)');
  });

  it('reads only recent messages for the checks of all locations, however many there are', async () => {
    const plans = await plansOf(async (journal) => {
      await journal.lastInbound(1);
      await journal.troubledSends(1);
      await journal.unfinishedSends(1, 2);
    }, /"messages"/);
    expect([...new Set(plans.flatMap(readsIn))]).toEqual([
      'SEARCH messages USING INDEX messages_inbound (created_at>?)',
      'SEARCH messages USING INDEX messages_undelivered (status=? AND created_at>?)',
      'SEARCH messages USING INDEX messages_undelivered (status=? AND created_at>? AND created_at<?)',
    ]);
  });

  it('finds a message by messageId with the partial index of each direction', async () => {
    const message = { locationId: 'loc', messageId: 'one' };
    for (const locationIds of [undefined, ['loc1', 'loc2']]) {
      const [byId, shownOutbound, shownInbound] = await plansOf(
        (journal) => journal.show('one', locationIds),
        /"id" = |message_id"? = /,
      );
      expect(byId).toContain('(id=?)');
      expect(shownOutbound).toContain('messages_message (message_id=? AND location_id>?)');
      expect(shownOutbound).toContain('messages_message (message_id=? AND location_id=?)');
      expect(shownInbound).toContain('messages_guid (block=? AND message_id=?)');
    }
    const outbound = await plansOf(
      (journal) => journal.requestsOf({ direction: 'outbound', ...message }),
      /"message_id" = /,
    );
    expect(outbound).toEqual([expect.stringContaining('messages_message (message_id=? AND location_id=?)')]);
    const inbound = await plansOf(
      (journal) => journal.requestsOf({ direction: 'inbound', ...message }),
      /"message_id" = /,
    );
    expect(inbound).toEqual([expect.stringContaining('messages_guid (block=? AND message_id=?)')]);
  });
});

/** Returns the steps of a plan that read messages, without those that only find the blocks. */
const readsIn = (plan: string): string[] =>
  plan
    .split('\n')
    .filter((step) => /^(SCAN|SEARCH) messages\b/.test(step))
    .filter((step) => !/COVERING INDEX \w+( \(block<\?\))?$/.test(step));

/** Resolves with the plans of the queries of a list, or of those that match `pattern`. */
async function plansOf(
  read: (journal: Journal) => Promise<unknown>,
  pattern = /as "parts"/,
): Promise<string[]> {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, ignore);
  const nodes: RootOperationNode[] = [];
  const db = database.db.withPlugin({
    transformQuery({ node }) {
      nodes.push(node);
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const journal = createJournal({
    database: { ...database, db },
    clock: new FakeClock(),
    log: silentLog,
    handleKeys: HANDLE_KEYS,
  });
  await read(journal);
  const plans: string[] = [];
  for (const node of nodes) {
    const query = database.db.getExecutor().compileQuery(node, createQueryId());
    if (!pattern.test(query.sql)) continue;
    const { rows } = await database.db.executeQuery({ ...query, sql: `EXPLAIN QUERY PLAN ${query.sql}` });
    plans.push((rows as { detail: string }[]).map(({ detail }) => detail).join('\n'));
  }
  await journal.close();
  await database.close();
  return plans;
}

describe('the journal without its database', () => {
  it('rejects reads with EngineError', async () => {
    const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, ignore);
    const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
    const journal = createJournal({ database, clock: new FakeClock(), log, handleKeys: [] });
    await database.db.schema.alterTable('messages').renameTo('gone').execute();
    for (const read of [
      () => journal.list({ limit: 1 }),
      () => journal.show('one'),
      () => journal.sentStatuses('one'),
      () => journal.codeOf('one'),
    ])
      await expect(read()).rejects.toBeInstanceOf(EngineError);
    await journal.close();
    await database.close();
  });

  it('keeps changes in memory, logs that once, and writes them when the database is back', async () => {
    const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, ignore);
    const clock = new FakeClock();
    const logged: object[] = [];
    const record = (fields: object) => logged.push(fields);
    const log = { debug: ignore, info: record, warn: record, error: record };
    const journal = createJournal({ database, clock, log, handleKeys: [] });
    const entry = { direction: 'outbound', locationId: 'loc', messageId: null, kind: 'text' } as const;
    await database.db.schema.alterTable('message_steps').renameTo('gone').execute();

    journal.open({ ...entry, id: 'one', handle: null, contactId: null, length: 1 }, 'accepted');
    await clock.advance(1000);
    journal.step('one', 'written', { state: 'written' });
    await clock.advance(1000);
    expect(logged).toMatchObject([{ event: 'journal.write_failed' }]);

    await database.db.schema.alterTable('gone').renameTo('message_steps').execute();
    await clock.advance(1000);
    expect(logged).toMatchObject([{ event: 'journal.write_failed' }, { event: 'journal.writable' }]);
    expect(await journal.show('one')).toMatchObject({
      state: 'written',
      steps: [{ step: 'accepted' }, { step: 'written' }],
    });
    await journal.close();
    await database.close();
  });
});
