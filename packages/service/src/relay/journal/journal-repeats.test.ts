import { silentLog } from '@footbridge/testkit/silent-log';
import { createQueryId, sql } from 'kysely';
import type { CompiledQuery, RootOperationNode } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';

import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { onJournals } from './journal.fixture.ts';
import { createJournal } from './journal-sql.ts';

const MESSAGE = { direction: 'outbound', locationId: 'loc1', messageId: 'msg1' } as const;

onJournals('journal repeats', (fixture) => {
  const { entry } = fixture;

  it('returns every request with an id of the CRM, oldest first', async () => {
    const { clock, journal } = fixture;
    const [first, second, elsewhere] = [entry(), entry(), entry({ locationId: 'loc2' })];
    journal.open(first, 'accepted');
    await clock.advance(1);
    journal.open(elsewhere, 'accepted');
    journal.step(first.id, 'mac_reported', { state: 'delivered' });
    await clock.advance(1);
    journal.open(second, 'rejected', { state: 'rejected', code: 'LOCATION_NOT_CONNECTED' });
    expect(await journal.requestsOf(MESSAGE)).toMatchObject([
      { id: first.id, state: 'delivered', steps: [{ step: 'accepted' }, { step: 'mac_reported' }] },
      { id: second.id, state: 'rejected', steps: [{ step: 'rejected' }] },
    ]);
    expect(await journal.requestsOf({ ...MESSAGE, messageId: 'nothing' })).toEqual([]);
  });

  it('returns the newest hundred of many requests with an id of the CRM', async () => {
    const { clock, journal } = fixture;
    const entries = Array.from({ length: 101 }, () => entry());
    for (const one of entries) {
      journal.open(one, 'accepted');
      await clock.advance(1);
    }
    const found = await journal.requestsOf(MESSAGE);
    expect(found.map(({ id }) => id)).toEqual(entries.slice(1).map(({ id }) => id));
  });

  it('A5 leaves out one request of a message', async () => {
    const { journal } = fixture;
    const [first, second] = [entry(), entry()];
    journal.open(first, 'accepted');
    journal.step(first.id, 'written');
    await journal.flush();
    expect(await journal.lastStatus('loc1', 'msg1', first.id)).toBeUndefined();
    expect(await journal.lastStatus('loc1', 'msg1', second.id)).toBe('written');
    journal.open(second, 'accepted');
    await journal.flush();
    expect(await journal.lastStatus('loc1', 'msg1', first.id)).toBe('repeated');
  });

  it('T54 searches for an id with an index, although the newest message with it is wanted', async () => {
    const { database, clock } = fixture;
    await sql`
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)
      INSERT INTO messages (id, direction, location_id, message_id, kind, status, length, created_at, updated_at, steps)
      SELECT 'request-' || n, CASE WHEN n % 3 = 0 THEN 'inbound' ELSE 'outbound' END, 'loc' || (n % 500), 'msg-' || n,
        'text', 'delivered', 1, n, n, '[]' FROM numbers`.execute(database.db);
    await sql`ANALYZE`.execute(database.db);
    const nodes: RootOperationNode[] = [];
    const db = database.db.withPlugin({
      transformQuery: ({ node }) => (nodes.push(node), node),
      transformResult: async ({ result }) => result,
    });
    const observed = { ...database, db };
    const reader = createJournal({ database: observed, clock, log: silentLog, handleKeys: [] });
    expect(await reader.show('msg-1')).toMatchObject({ id: 'request-1' });
    expect(await reader.show('msg-3')).toMatchObject({ id: 'request-3' });
    expect(await reader.show('unknown')).toBeUndefined();
    const locationIds = Array.from({ length: 1000 }, (_, index) => `loc${index}`);
    expect(await reader.show('msg-1', locationIds)).toMatchObject({ id: 'request-1' });
    expect(await reader.show('msg-3', locationIds)).toMatchObject({ id: 'request-3' });
    expect(await reader.show('unknown', locationIds)).toBeUndefined();
    for (const direction of ['outbound', 'inbound'] as const)
      await reader.requestsOf({ ...MESSAGE, direction });
    expect(await reader.wasDelivered({ locationId: 'loc1', messageId: 'msg-1' }, 2)).toBe(true);
    expect(await reader.wasDelivered({ locationId: 'loc1', messageId: 'msg-1' }, 1)).toBe(false);
    const executor = database.db.getExecutor();
    const queries = nodes.map((node) => executor.compileQuery(node, createQueryId()));
    const searches = queries.filter((query) => /message_id"? = [?$]/.test(query.sql));
    expect(searches.length).toBeGreaterThanOrEqual(12);
    for (const query of searches) {
      const plan = await planOf(database, query);
      expect(plan).toMatch(/messages_message|messages_guid/);
      expect(plan).not.toMatch(/messages_age|messages_inbound|messages_location|Seq Scan on messages/);
    }
    await reader.close();
  });

  describe('with 20,000 requests for one message', () => {
    const repeated = (n: number) => `request-${n}`;
    const told = (n: number, status: string) => {
      const message = { locationId: 'loc1', messageId: 'msg1' };
      fixture.journal.step(repeated(n), 'status_sent', { detail: { status }, message, isRepeat: n > 1 });
    };

    beforeEach(async () => {
      const { database, clock } = fixture;
      const at = clock.now();
      await sql`
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)
        INSERT INTO messages (id, direction, location_id, message_id, kind, status, length, created_at, updated_at, steps)
        SELECT 'request-' || n, 'outbound', 'loc1', 'msg1', 'text', 'accepted', 1, ${sql.lit(at)} + n, ${sql.lit(at)} + n,
          '[[' || (${sql.lit(at)} + n) || ',"accepted"]]' FROM numbers`.execute(database.db);
      await clock.advance(20_001);
    });

    it.each([1, 10_000, 19_999])('A5 finds that request %i was delivered', async (n) => {
      const { journal } = fixture;
      told(n, 'pending');
      told(n, 'delivered');
      await journal.flush();
      expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('delivered');
      expect(await journal.lastStatus('loc2', 'msg1', 'another')).toBeUndefined();
    });

    it('A5 the last status does not rely on a status that unread requests may have superseded', async () => {
      const { journal } = fixture;
      told(1, 'failed');
      told(10_000, 'pending');
      await journal.flush();
      expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('uncertain');
      told(20_000, 'failed');
      await journal.flush();
      expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('failed');
    });

    it('T54 reads only a few of them, in the order of an index', async () => {
      const { database, clock, journal } = fixture;
      told(10_000, 'delivered');
      await journal.flush();
      const { database: observed, queries } = observe(database);
      const reader = createJournal({ database: observed, clock, log: silentLog, handleKeys: [] });
      await reader.lastStatus('loc1', 'msg1', 'another');
      expect(queries.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThan(100);
      const plans = await Promise.all(queries.map(({ query }) => planOf(database, query)));
      for (const plan of plans) expect(plan).not.toMatch(/SCAN messages|Seq Scan on messages/);
      for (const plan of plans.filter((one) => one.includes('messages_message')))
        expect(plan).not.toMatch(/TEMP B-TREE|Sort/);
      expect(plans.filter((plan) => plan.includes('messages_message'))).toHaveLength(2);
      expect(plans.filter((plan) => plan.includes('messages_told'))).toHaveLength(1);
      await reader.close();
    });

    it('finds the newest one and the newest hundred, and no inbound message with the same id', async () => {
      const { clock, journal } = fixture;
      journal.open(entry({ id: 'in-1', direction: 'inbound' }), 'received');
      journal.open(entry({ id: 'other', locationId: 'loc0' }), 'accepted');
      await clock.advance(1);
      journal.open(entry({ id: 'newest' }), 'accepted');
      expect((await journal.show('msg1'))?.id).toBe('newest');
      const found = (await journal.requestsOf(MESSAGE)).map(({ id }) => id);
      expect([found.length, ...found.slice(-3)]).toEqual([100, 'request-19999', 'request-20000', 'newest']);
    });
  });
});

/** Records each precompiled query and the number of rows that it returned. */
function observe(database: OpenDatabase) {
  const queries: { query: CompiledQuery; rows: number }[] = [];
  const executeQuery = async (query: CompiledQuery) => {
    const result = await database.db.executeQuery(query);
    queries.push({ query, rows: result.rows.length });
    return result;
  };
  const db = new Proxy(database.db, {
    get(target, name) {
      if (name === 'executeQuery') return executeQuery;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  return { database: { ...database, db }, queries };
}

async function planOf({ db, engine }: OpenDatabase, query: CompiledQuery): Promise<string> {
  const explain = engine === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
  const { rows } = await db.executeQuery({ ...query, sql: `${explain} ${query.sql}` });
  return JSON.stringify(rows);
}
