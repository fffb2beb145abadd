import { turnsDuring } from '@footbridge/testkit/turns-during';
import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { onJournals } from './journal.fixture.ts';

onJournals('journal activity', (fixture) => {
  const { entry } = fixture;

  it('returns the time of the newest webhook of each location', async () => {
    const { clock, journal } = fixture;
    const first = clock.now();
    journal.open(entry({ locationId: 'loc1' }), 'accepted');
    journal.open(entry({ locationId: 'loc2' }), 'accepted');
    await clock.advance(1000);
    journal.open(entry({ locationId: 'loc2' }), 'accepted');
    journal.open(entry({ locationId: 'loc1', direction: 'inbound' }), 'received');
    journal.open(entry({ locationId: 'loc3', direction: 'inbound' }), 'received');
    expect(await journal.lastWebhooks(['loc1', 'loc2', 'loc3', 'loc4'])).toEqual(
      new Map([
        ['loc1', first],
        ['loc2', first + 1000],
      ]),
    );
    expect(await journal.lastWebhooks([])).toEqual(new Map());
  });

  it('counts the messages of a span of time by direction, state and code', async () => {
    const { clock, journal } = fixture;
    const from = clock.now();
    journal.open(entry(), 'accepted');
    journal.open(entry(), 'rejected', { state: 'rejected', code: 'TIMEOUT' });
    journal.open(entry({ locationId: 'loc2' }), 'rejected', { state: 'rejected', code: 'TIMEOUT' });
    await clock.advance(1000);
    journal.open(entry({ direction: 'inbound' }), 'received');
    const rejected = { from, direction: 'outbound', state: 'rejected', code: 'TIMEOUT' };
    const span = { from, until: from + 1000, bucketMs: 1000 };
    const counted = await journal.counts(span);
    expect(counted).toHaveLength(2);
    expect(counted).toContainEqual({ ...rejected, count: 2 });
    const accepted = { from, direction: 'outbound', state: 'accepted', code: null, count: 1 };
    expect(counted).toContainEqual(accepted);
    expect(await journal.counts({ ...span, locationIds: ['loc2'] })).toEqual([{ ...rejected, count: 1 }]);
    expect(await journal.counts({ ...span, locationIds: [] })).toEqual([]);
    const buckets = await journal.counts({ ...span, until: from + 2000 });
    expect(buckets).toHaveLength(3);
    expect(buckets).toContainEqual({
      from: from + 1000,
      direction: 'inbound',
      state: 'received',
      code: null,
      count: 1,
    });
  });

  it('lists a time of each hour with an inbound message, and the newest one', async () => {
    const { clock, journal } = fixture;
    const hour = 3_600_000;
    const start = Math.ceil(clock.now() / hour) * hour;
    await clock.advance(start - clock.now());
    for (const wait of [0, 10, 20, hour, 3 * hour, 5]) {
      await clock.advance(wait);
      journal.open(entry({ direction: 'inbound' }), 'received');
      journal.open(entry(), 'accepted');
      journal.open(entry({ direction: 'inbound', locationId: 'loc2' }), 'received');
    }
    const times = [start, start + hour + 30, start + 4 * hour + 30, start + 4 * hour + 35];
    expect(await journal.inboundHours('loc1', start)).toEqual(times);
    expect(await journal.inboundHours('loc1', start + 31)).toEqual(times.slice(1));
    expect(await journal.inboundHours('loc3', start)).toEqual([]);
  });

  it('returns the time of the newest inbound message of each location', async () => {
    const { clock, journal } = fixture;
    journal.open(entry({ direction: 'inbound', locationId: 'loc2' }), 'received');
    await clock.advance(1000);
    const since = clock.now();
    for (const wait of [0, 5]) {
      await clock.advance(wait);
      journal.open(entry({ direction: 'inbound' }), 'received');
    }
    journal.open(entry({ locationId: 'loc3' }), 'accepted');
    expect([...(await journal.lastInbound(since))]).toEqual([['loc1', since + 5]]);
  });

  it('counts the sends in a period that have no result', async () => {
    const { clock, journal } = fixture;
    const from = clock.now();
    const send = async (id: string, state?: 'delivered' | 'failed') => {
      journal.open(entry({ id }), 'accepted');
      journal.step(id, 'written', { state: 'written' });
      if (state !== undefined) journal.step(id, 'mac_reported', { state });
      await clock.advance(10);
    };
    await send('a');
    await send('b', 'delivered');
    await send('c', 'failed');
    await send('d');
    journal.step('d', 'status_sent', { state: 'pending', detail: { status: 'pending' } });
    journal.open(entry({ direction: 'inbound' }), 'received');
    const end = clock.now();
    expect(await journal.unfinishedSends(from, end)).toBe(2);
    expect(await journal.unfinishedSends(from + 10, end)).toBe(1);
    expect(await journal.unfinishedSends(from, end - 10)).toBe(1);
  });

  it('returns the newest sends of locations with a send that failed or has no result', async () => {
    const { clock, journal } = fixture;
    const from = clock.now();
    const send = async (id: string, locationId: string, state: 'delivered' | 'failed' | undefined) => {
      journal.open(entry({ id, locationId }), 'accepted');
      journal.step(id, 'written', { state: 'written' });
      await clock.advance(10);
      if (state !== undefined) journal.step(id, 'mac_reported', { state, code: 'TIMEOUT' });
    };
    await send('a', 'loc1', 'delivered');
    await send('b', 'loc1', 'failed');
    await send('c', 'loc2', 'delivered');
    await send('d', 'loc3', undefined);
    journal.open(entry({ locationId: 'loc4' }), 'rejected', { state: 'rejected', code: 'GONE' });
    const sends = await journal.troubledSends(from);
    expect([...sends.keys()].toSorted()).toEqual(['loc1', 'loc3']);
    expect(sends.get('loc1')).toEqual([
      {
        state: 'failed',
        code: 'TIMEOUT',
        person: expect.any(String),
        createdAt: from + 10,
        updatedAt: from + 20,
      },
      {
        state: 'delivered',
        code: 'TIMEOUT',
        person: expect.any(String),
        createdAt: from,
        updatedAt: from + 10,
      },
    ]);
    expect(sends.get('loc3')?.map(({ state }) => state)).toEqual(['written']);
    expect((await journal.troubledSends(from + 31)).size).toBe(0);
  });

  it('T54 lets other work run while it searches many failed messages', async () => {
    const { database, clock, journal } = fixture;
    const at = clock.now();
    await sql`
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 25000)
      INSERT INTO messages (id, direction, location_id, message_id, kind, status, length, created_at, updated_at)
      SELECT 'failed-' || n, 'outbound', CASE n WHEN 1 THEN 'first' WHEN 25000 THEN 'last' ELSE 'between' END,
        'msg-' || n, 'text', 'failed', 1, ${sql.lit(at)} + n / 10, ${sql.lit(at)} + n FROM numbers`.execute(
      database.db,
    );
    let sends = new Map<string, unknown>();
    const turns = await turnsDuring(async () => {
      sends = new Map(await journal.troubledSends(at));
    });
    expect([...sends.keys()].toSorted()).toEqual(['between', 'first', 'last']);
    expect(turns).toBeGreaterThanOrEqual(12);
  });
});
