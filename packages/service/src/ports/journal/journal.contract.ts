import { newRequestId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sql } from 'kysely';
import type { CompiledQuery } from 'kysely';
import { silentLog } from '@footbridge/testkit/silent-log';
import { turnsDuring } from '@footbridge/testkit/turns-during';
import { until } from '@footbridge/testkit/until';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { OpenDatabase } from '../../sql/open-database.ts';
import { createSqlJournal } from './journal-sql.ts';
import type { SqlJournal } from './journal-sql.ts';
import type { JournalEvent, NewEntry } from './journal.ts';
import { keyedHash } from './keyed-hash.ts';

const DAY = 86_400_000;
const HANDLE_KEYS = [Buffer.alloc(32, 1)];
const PHONE = '+15555550100';
const hashOf = (handle: string) => keyedHash(HANDLE_KEYS).handle(handle)[0] ?? '';

export function journalContract(name: string, open: () => Promise<OpenDatabase>): void {
  describe(`journal: ${name}`, () => {
    let database: OpenDatabase;
    let clock: FakeClock;
    let journal: SqlJournal;

    beforeEach(async () => {
      database = await open();
      clock = new FakeClock();
      journal = createSqlJournal({ database, clock, log: silentLog, handleKeys: HANDLE_KEYS });
    });
    afterEach(async () => {
      await journal.close();
      await database.close();
    });

    const entry = (more: Partial<NewEntry> = {}): NewEntry => ({
      id: newRequestId(clock.now()),
      direction: 'outbound',
      locationId: 'loc1',
      messageId: 'msg1',
      kind: 'text',
      handle: PHONE,
      contactId: null,
      length: 12,
      ...more,
    });
    const count = async (table: 'messages' | 'message_steps') => {
      const { rows } = await sql<{
        n: number;
      }>`select cast(count(*) as bigint) as n from ${sql.table(table)}`.execute(database.db);
      return Number(rows[0]?.n);
    };

    it('returns all steps of a message in order', async () => {
      const one = entry();
      journal.open(one, 'accepted');
      journal.step(one.id, 'written', { state: 'written', detail: { epoch: 7 } });
      await clock.advance(5);
      journal.step(one.id, 'crm_told', { state: 'pending', detail: { status: 'pending', http: 200 } });
      journal.step(one.id, 'mac_says', { state: 'failed', code: 'TIMEOUT' });
      const trail = await journal.show(one.id);
      expect(trail).toMatchObject({ id: one.id, phoneMasked: '+1•••0100', state: 'failed', code: 'TIMEOUT' });
      expect(trail?.steps.map(({ step }) => step)).toEqual(['accepted', 'written', 'crm_told', 'mac_says']);
      expect(trail?.steps.map(({ detail }) => detail)).toEqual([
        null,
        { epoch: 7 },
        { status: 'pending', http: 200 },
        { code: 'TIMEOUT' },
      ]);
      expect(await journal.show('nothing')).toBeUndefined();
    });

    it('finds the newest message with an id of the CRM', async () => {
      const [older, newer] = [entry(), entry()];
      journal.open(older, 'accepted');
      await clock.advance(1);
      journal.open(newer, 'accepted');
      expect((await journal.show('msg1'))?.id).toBe(newer.id);
    });

    it('returns every request with an id of the CRM, oldest first', async () => {
      const [first, second, elsewhere] = [entry(), entry(), entry({ locationId: 'loc2' })];
      journal.open(first, 'accepted');
      await clock.advance(1);
      journal.open(elsewhere, 'accepted');
      journal.step(first.id, 'mac_says', { state: 'delivered' });
      await clock.advance(1);
      journal.open(second, 'rejected', { state: 'rejected', code: 'LOCATION_NOT_CONNECTED' });
      expect(await journal.requestsOf('loc1', 'msg1')).toMatchObject([
        { id: first.id, state: 'delivered', steps: [{ step: 'accepted' }, { step: 'mac_says' }] },
        { id: second.id, state: 'rejected', steps: [{ step: 'rejected' }] },
      ]);
      expect(await journal.requestsOf('loc1', 'nothing')).toEqual([]);
    });

    it('returns the newest hundred of many requests with an id of the CRM', async () => {
      const entries = Array.from({ length: 101 }, () => entry());
      for (const one of entries) {
        journal.open(one, 'accepted');
        await clock.advance(1);
      }
      const found = await journal.requestsOf('loc1', 'msg1');
      expect(found.map(({ id }) => id)).toEqual(entries.slice(1).map(({ id }) => id));
    });

    it('writes nothing immediately and everything within the flush interval', async () => {
      const one = entry();
      journal.open(one, 'accepted');
      expect(await count('messages')).toBe(0);
      await clock.advance(250);
      await journal.show('wait for the flush');
      expect(await count('messages')).toBe(1);
      expect(await count('message_steps')).toBe(0);
      journal.step(one.id, 'written', { state: 'written' });
      const trail = await journal.show(one.id);
      expect(trail?.steps.map(({ step }) => step)).toEqual(['accepted', 'written']);
      expect(await count('message_steps')).toBe(1);
    });

    it('appends the steps of a message that is opened again', async () => {
      const one = entry({ direction: 'inbound' });
      journal.open(one, 'received');
      await journal.show(one.id);
      await clock.advance(1);
      journal.open(one, 'received');
      journal.step(one.id, 'acknowledged', { state: 'delivered' });
      const trail = await journal.show(one.id);
      expect(trail).toMatchObject({ state: 'delivered', createdAt: clock.now() - 1 });
      expect(trail?.steps.map(({ step }) => step)).toEqual(['received', 'received', 'acknowledged']);
      expect(await count('messages')).toBe(1);
    });

    it('caps the steps of a message that is opened many times', async () => {
      const one = entry({ direction: 'inbound' });
      const note = 'x'.repeat(500);
      for (let index = 0; index < 100; index++) {
        journal.open(one, 'received', { detail: { seq: index, note } });
        await journal.show(one.id);
      }
      const trail = await journal.show(one.id);
      expect(trail?.steps[0]).toMatchObject({ step: 'received', detail: { seq: 0 } });
      expect(trail?.steps.length).toBeLessThan(75);
    });

    it('writes every row of a burst', async () => {
      const entries = Array.from({ length: 700 }, () => entry());
      for (const one of entries) journal.open(one, 'accepted');
      for (const one of entries) journal.step(one.id, 'written', { state: 'written' });
      await journal.close();
      expect(await count('messages')).toBe(700);
      const trail = await journal.show(entries[699]?.id ?? '');
      expect(trail?.steps.map(({ step }) => step)).toEqual(['accepted', 'written']);
      const { rows } = await sql`select id from messages where status = 'written'`.execute(database.db);
      expect(rows).toHaveLength(700);
    });

    it('updates messages that were written by an earlier flush', async () => {
      const entries = Array.from({ length: 75 }, () => entry());
      for (const one of entries) journal.open(one, 'accepted');
      await journal.show('wait for the flush');
      await clock.advance(1);
      for (const one of entries) journal.step(one.id, 'mac_says', { state: 'delivered' });
      const { messages } = await journal.list({ limit: 200 });
      expect(messages.map(({ state }) => state)).toEqual(Array.from({ length: 75 }, () => 'delivered'));
      expect(messages.every(({ createdAt, updatedAt }) => updatedAt > createdAt)).toBe(true);
    });

    it('merges the steps of two nodes, in whichever order they write', async () => {
      const one = entry();
      const other = createSqlJournal({ database, clock, log: silentLog, handleKeys: HANDLE_KEYS });
      other.step(one.id, 'written', { state: 'written' });
      expect(await other.show(one.id)).toBeUndefined();
      journal.open(one, 'accepted');
      expect(await journal.show(one.id)).toMatchObject({ state: 'accepted' });
      const trail = await other.show(one.id);
      expect(trail?.state).toBe('written');
      expect(trail?.steps.map(({ step }) => step).toSorted()).toEqual(['accepted', 'written']);
      await other.close();
    });

    it('keeps one entry for an inbound message that is received again', async () => {
      const one = entry({ id: 'inbound-1', direction: 'inbound', messageId: 'guid-1' });
      journal.open(one, 'received');
      journal.step(one.id, 'parked', { state: 'undeliverable', code: 'NO_CONTACT' });
      await clock.advance(1000);
      journal.open(one, 'received');
      journal.step(one.id, 'crm_took_it', { state: 'delivered' });
      expect(await journal.show('guid-1')).toMatchObject({ state: 'delivered', code: null });
      expect(await count('messages')).toBe(1);
    });

    it('finds the entry of an inbound message by location and guid', async () => {
      journal.open(entry({ id: 'in-1', direction: 'inbound', messageId: 'guid-1' }), 'received');
      journal.open(entry({ id: 'out-1', messageId: 'guid-1' }), 'accepted');
      expect(await journal.inboundEntry('loc1', 'guid-1')).toEqual({ id: 'in-1', code: null });
      expect(await journal.inboundEntry('loc2', 'guid-1')).toBeUndefined();
      expect(await journal.inboundEntry('loc1', 'guid-2')).toBeUndefined();
    });

    it('returns the time of the newest webhook of each location', async () => {
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

    it('lists messages in pages, newest first, each once', async () => {
      const entries: NewEntry[] = [];
      for (let index = 0; index < 25; index++) {
        entries.push(entry());
        journal.open(entries[index] ?? entry(), 'accepted');
        if (index % 3 === 0) await clock.advance(1);
      }
      const seen: string[] = [];
      let cursor: string | null | undefined;
      do {
        const page = await journal.list({ limit: 10, ...(cursor && { cursor }) });
        seen.push(...page.messages.map(({ id }) => id));
        ({ cursor } = page);
      } while (cursor !== null);
      expect(new Set(seen)).toEqual(new Set(entries.map(({ id }) => id)));
      expect(seen).toHaveLength(25);
      const times = (await journal.list({ limit: 100 })).messages.map(({ createdAt }) => createdAt);
      expect(times).toEqual(times.toSorted((left, right) => right - left));
    });

    it('lists the messages of hundreds of locations page by page, and returns the newest', async () => {
      const locationIds = Array.from({ length: 250 }, (_, index) => `place${index}`);
      const ids: string[] = [];
      for (const locationId of [...locationIds, 'elsewhere', ...locationIds]) {
        const one = entry({ locationId });
        journal.open(one, 'accepted');
        if (locationId !== 'elsewhere') ids.unshift(one.id);
        await clock.advance(1);
      }
      const first = await journal.list({ limit: 200, locationIds });
      const second = await journal.list({ limit: 200, locationIds, cursor: first.cursor ?? '' });
      const third = await journal.list({ limit: 200, locationIds, cursor: second.cursor ?? '' });
      const listed = [first, second, third].flatMap(({ messages }) => messages.map(({ id }) => id));
      expect([listed, third.cursor]).toEqual([ids, null]);
      const newest = await journal.newest({ limit: 3, locationIds: [...locationIds, 'place0'] });
      expect(newest.map(({ id }) => id)).toEqual(ids.slice(0, 3));
    });

    it('filters by location, state and direction', async () => {
      journal.open(entry({ locationId: 'loc2' }), 'accepted');
      journal.open(entry(), 'rejected', { state: 'rejected', code: 'MISSING_REQUIRED_FIELDS' });
      journal.open(entry({ id: 'in-1', direction: 'inbound' }), 'received');
      const list = async (query: object) =>
        (await journal.list({ limit: 10, ...query })).messages.map(({ locationId, state }) => [
          locationId,
          state,
        ]);
      expect(await list({ locationIds: ['loc2'] })).toEqual([['loc2', 'accepted']]);
      expect(await list({ locationIds: [] })).toEqual([]);
      expect(await list({ state: 'rejected' })).toEqual([['loc1', 'rejected']]);
      expect(await list({ state: 'delivered' })).toEqual([]);
      expect(await list({ direction: 'inbound' })).toEqual([['loc1', 'received']]);
      expect(await list({ cursor: 'not a cursor' })).toHaveLength(3);
    });

    it('counts the messages of a span of time by direction, state and code', async () => {
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
      const from = clock.now();
      const send = async (id: string, state?: 'delivered' | 'failed') => {
        journal.open(entry({ id }), 'accepted');
        journal.step(id, 'written', { state: 'written' });
        if (state !== undefined) journal.step(id, 'mac_says', { state });
        await clock.advance(10);
      };
      await send('a');
      await send('b', 'delivered');
      await send('c', 'failed');
      await send('d');
      journal.step('d', 'crm_told', { state: 'pending', detail: { status: 'pending' } });
      journal.open(entry({ direction: 'inbound' }), 'received');
      const end = clock.now();
      expect(await journal.unfinishedSends(from, end)).toBe(2);
      expect(await journal.unfinishedSends(from + 10, end)).toBe(1);
      expect(await journal.unfinishedSends(from, end - 10)).toBe(1);
    });

    it('returns the newest sends of locations with a send that failed or has no result', async () => {
      const from = clock.now();
      const send = async (id: string, locationId: string, state: 'delivered' | 'failed' | undefined) => {
        journal.open(entry({ id, locationId }), 'accepted');
        journal.step(id, 'written', { state: 'written' });
        await clock.advance(10);
        if (state !== undefined) journal.step(id, 'mac_says', { state, code: 'TIMEOUT' });
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

    it('returns the newest messages with their steps', async () => {
      journal.open(entry({ id: 'old', contactId: 'contact-1' }), 'accepted');
      await clock.advance(1000);
      journal.open(entry({ id: 'new', locationId: 'loc2' }), 'accepted');
      await clock.advance(1000);
      journal.step('new', 'written');
      const [newest, ...others] = await journal.newest({ limit: 1 });
      expect(others).toEqual([]);
      expect(newest?.steps.map(({ step }) => step)).toEqual(['accepted', 'written']);
      expect((await journal.newest({ limit: 9, locationIds: ['loc1'] })).map(({ id }) => id)).toEqual([
        'old',
      ]);
    });

    it('finds the messages of a customer by phone number and by contact', async () => {
      journal.open(entry({ id: 'out-1', contactId: 'contact-1' }), 'accepted');
      journal.open(entry({ id: 'in-1', direction: 'inbound' }), 'received');
      journal.open(entry({ id: 'other', handle: '+15555550199', contactId: 'contact-2' }), 'accepted');
      await clock.advance(200);
      journal.step('in-1', 'crm_took_it', { state: 'delivered', contactId: 'contact-1' });
      const list = async (query: object) =>
        (await journal.list({ limit: 10, ...query })).messages.map(({ id }) => id).toSorted();
      expect(await list({ handle: '+1 (555) 555-0100' })).toEqual(['in-1', 'out-1']);
      expect(await list({ handle: '+15555550101' })).toEqual([]);
      expect(await list({ contactId: 'contact-1' })).toEqual(['in-1', 'out-1']);
      expect(await list({ contactId: 'contact-2' })).toEqual(['other']);
    });

    it('finds and erases the messages of a person, including requests without a number for the same contact', async () => {
      const out = entry({ id: 'out', contactId: 'contact-1' });
      journal.open(out, 'accepted');
      journal.open(entry({ id: 'in', direction: 'inbound', locationId: 'loc2' }), 'received');
      journal.open(entry({ id: 'no-number', handle: null, contactId: 'contact-1' }), 'rejected');
      journal.open(entry({ id: 'other', handle: '+15555550199', contactId: 'contact-2' }), 'accepted');
      journal.open(entry({ id: 'shared', handle: '+15555550199', contactId: 'contact-1' }), 'accepted');
      journal.open(entry({ id: 'unknown', handle: null, contactId: null }), 'rejected');
      const ids = async (query: object) =>
        (await journal.ofPerson({ handle: PHONE, limit: 10, ...query })).messages
          .map(({ id }) => id)
          .toSorted();
      expect(await ids({})).toEqual(['in', 'no-number', 'out']);
      expect(await ids({ handle: '+15555550101' })).toEqual([]);
      expect(await ids({ locationIds: ['loc2'] })).toEqual(['in']);
      expect(await ids({ locationIds: [] })).toEqual([]);
      const first = await journal.ofPerson({ handle: PHONE, limit: 2 });
      const rest = await journal.ofPerson({ handle: PHONE, limit: 2, cursor: first.cursor ?? '' });
      expect([first.messages.length, rest.messages.length, rest.cursor]).toEqual([2, 1, null]);
      expect(rest.messages[0]?.steps).toHaveLength(1);

      expect(await journal.erase({ handle: PHONE, locationIds: [] })).toBe(0);
      expect(await journal.erase({ handle: PHONE, locationIds: ['loc2'] })).toBe(1);
      journal.step('out', 'written');
      expect(await journal.erase({ handle: PHONE })).toBe(2);
      expect(await journal.erase({ handle: PHONE })).toBe(0);
      expect((await journal.list({ limit: 10 })).messages.map(({ id }) => id).toSorted()).toEqual([
        'other',
        'shared',
        'unknown',
      ]);
      const steps = await database.db.selectFrom('message_steps').select('message_id').execute();
      expect(steps.filter(({ message_id }) => message_id === 'out')).toEqual([]);
    });

    it('finds a phone number that was stored with an earlier key, and stores none in clear', async () => {
      journal.open(entry({ id: 'old', contactId: 'contact-1' }), 'accepted');
      await clock.advance(200);
      const handleKeys = [Buffer.alloc(32, 2), ...HANDLE_KEYS];
      const rotated = createSqlJournal({ database, clock, log: silentLog, handleKeys });
      rotated.open(entry({ id: 'new', contactId: 'contact-1' }), 'accepted');
      const { messages } = await rotated.list({ limit: 10, handle: PHONE });
      expect(messages.map(({ id }) => id)).toEqual(['new', 'old']);
      const first = await rotated.list({ limit: 1, handle: PHONE, contactId: 'contact-1' });
      const cursor = first.cursor ?? '';
      const second = await rotated.list({ limit: 1, handle: PHONE, contactId: 'contact-1', cursor });
      await rotated.close();
      expect([...first.messages, ...second.messages].map(({ id }) => id)).toEqual(['new', 'old']);
      expect(second.cursor).toBeNull();
      const rows = await database.db.selectFrom('messages').selectAll().execute();
      expect(JSON.stringify(rows)).not.toContain('5555550100');
    });

    it('filters by kind, code and time', async () => {
      journal.open(entry({ id: 'first', kind: 'voice' }), 'rejected', {
        state: 'rejected',
        code: 'TOO_LONG',
      });
      const from = clock.now() + 1;
      await clock.advance(1000);
      journal.open(entry({ id: 'second' }), 'accepted');
      const list = async (query: object) =>
        (await journal.list({ limit: 10, ...query })).messages.map(({ id }) => id);
      expect(await list({ kind: 'voice' })).toEqual(['first']);
      expect(await list({ code: 'TOO_LONG' })).toEqual(['first']);
      expect(await list({ from })).toEqual(['second']);
      expect(await list({ until: from })).toEqual(['first']);
    });

    it('returns the statuses sent to the CRM, also before they are on disk', async () => {
      const one = entry();
      journal.open(one, 'accepted');
      journal.step(one.id, 'crm_told', { detail: { status: 'pending' } });
      expect(await journal.sentStatuses(one.id)).toEqual({
        locationId: 'loc1',
        messageId: 'msg1',
        statuses: ['pending'],
      });
      journal.step(one.id, 'crm_told', { detail: { status: 'delivered' } });
      expect((await journal.sentStatuses(one.id))?.statuses).toEqual(['pending', 'delivered']);
      expect(await journal.locationOf(one.id)).toBe('loc1');
      expect(await journal.sentStatuses('unknown')).toBeUndefined();
      expect(await journal.locationOf('unknown')).toBeUndefined();
    });

    it('returns the last status of a message over all its requests and locations', async () => {
      const told = async (more: Partial<NewEntry>, ...statuses: string[]) => {
        const one = entry(more);
        journal.open(one, 'accepted');
        for (const status of statuses) {
          await clock.advance(1);
          journal.step(one.id, 'crm_told', { detail: { status } });
        }
        await journal.show(one.id);
      };
      await told({}, 'pending', 'failed');
      expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('failed');
      await told({}, 'pending');
      await told({});
      expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('pending');
      await told({ locationId: 'loc2' }, 'delivered', 'pending');
      await told({ locationId: 'loc3', direction: 'inbound', id: 'in-1' }, 'delivered');
      const all = ['loc1', 'loc2', 'loc3'].map((locationId) =>
        journal.lastStatus(locationId, 'msg1', 'another'),
      );
      expect(await Promise.all(all)).toEqual(['pending', 'delivered', undefined]);
      expect(await journal.lastStatus('loc1', 'unknown', 'another')).toBeUndefined();
    });

    it('A5 knows that a frame was written and no status accepted since, unless the attempt is reported', async () => {
      const record = (messageId: string, ...steps: string[]) => {
        const one = entry({ messageId });
        journal.open(one, 'accepted');
        for (const step of steps) {
          if (step === 'written') journal.step(one.id, 'written');
          else journal.step(one.id, 'crm_told', { detail: { status: step } });
        }
      };
      record('new', 'written');
      record('told', 'written', 'pending');
      record('repeated', 'written', 'pending');
      await clock.advance(1);
      record('repeated', 'written');
      record('failed', 'written', 'pending', 'failed');
      record('tried again', 'written', 'pending', 'failed');
      await clock.advance(1);
      record('tried again', 'written');
      await journal.flush();
      const ids = ['new', 'told', 'repeated', 'failed', 'tried again'];
      const found = await Promise.all(ids.map((id) => journal.lastStatus('loc1', id, 'another')));
      expect(found).toEqual(['written', 'pending', 'pending', 'failed', 'written']);
    });

    it('A5 leaves out one request of a message', async () => {
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

    it('A5 knows of requests without a status: written, maybe written, or only made', async () => {
      const record = async (messageId: string, ...steps: string[]) => {
        for (const step of steps) {
          const one = entry({ messageId });
          journal.open(one, 'accepted');
          await clock.advance(1);
          if (step === 'written') journal.step(one.id, 'written');
          else if (step === 'uncertain')
            journal.step(one.id, 'rejected', { state: 'rejected', detail: { isCertain: false } });
          else if (step === 'rejected') journal.step(one.id, 'rejected', { state: 'rejected' });
          else journal.step(one.id, 'crm_told', { detail: { status: step } });
        }
      };
      const expected = {
        rejected: 'repeated',
        'failed rejected': 'repeated',
        'rejected failed': 'failed',
        'rejected pending': 'pending',
        'rejected written': 'written',
        'written rejected': 'written',
        'uncertain rejected': 'uncertain',
        'uncertain written': 'uncertain',
        'written uncertain': 'uncertain',
        'failed uncertain': 'uncertain',
        'uncertain failed': 'failed',
        'uncertain pending': 'pending',
        'pending uncertain': 'pending',
        'delivered uncertain': 'delivered',
      };
      for (const steps of Object.keys(expected)) await record(steps, ...steps.split(' '));
      await journal.flush();
      for (const [steps, last] of Object.entries(expected))
        expect([steps, await journal.lastStatus('loc1', steps, 'another')]).toEqual([steps, last]);
    });

    describe('with 20,000 requests for one message', () => {
      const repeated = (n: number) => `request-${n}`;
      const told = (n: number, status: string) => {
        const message = { locationId: 'loc1', messageId: 'msg1' };
        journal.step(repeated(n), 'crm_told', { detail: { status }, message, isRepeat: n > 1 });
      };

      beforeEach(async () => {
        const at = clock.now();
        await sql`
          WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000)
          INSERT INTO messages (id, direction, location_id, message_id, kind, status, length, created_at, updated_at, steps)
          SELECT 'request-' || n, 'outbound', 'loc1', 'msg1', 'text', 'accepted', 1, ${sql.lit(at)} + n, ${sql.lit(at)} + n,
            '[[' || (${sql.lit(at)} + n) || ',"accepted"]]' FROM numbers`.execute(database.db);
        await clock.advance(20_001);
      });

      it.each([1, 10_000, 19_999])('A5 finds that request %i was delivered', async (n) => {
        told(n, 'pending');
        told(n, 'delivered');
        await journal.flush();
        expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('delivered');
        expect(await journal.lastStatus('loc2', 'msg1', 'another')).toBeUndefined();
      });

      it('A5 does not rely on a status that unread requests may have superseded', async () => {
        told(1, 'failed');
        told(10_000, 'pending');
        await journal.flush();
        expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('uncertain');
        told(20_000, 'failed');
        await journal.flush();
        expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('failed');
      });

      it('T54 reads only a few of them, in the order of an index', async () => {
        told(10_000, 'delivered');
        await journal.flush();
        const { database: observed, queries } = observe(database);
        const reader = createSqlJournal({ database: observed, clock, log: silentLog, handleKeys: [] });
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

      it('finds the newest one, the newest hundred, and an inbound message with the same id', async () => {
        const guid = 'msg1';
        journal.open(entry({ id: 'in-1', direction: 'inbound', messageId: guid }), 'received');
        journal.open(entry({ id: 'other', locationId: 'loc0' }), 'accepted');
        await clock.advance(1);
        journal.open(entry({ id: 'newest' }), 'accepted');
        expect((await journal.show('msg1'))?.id).toBe('newest');
        const found = (await journal.requestsOf('loc1', 'msg1')).map(({ id }) => id);
        expect([found.length, ...found.slice(-3)]).toEqual([100, 'request-20000', 'in-1', 'newest']);
        expect(await journal.inboundEntry('loc1', guid)).toEqual({ id: 'in-1', code: null });
      });
    });

    it('A5 writes an accepted status within 20 ms, and on request at once', async () => {
      const one = entry();
      journal.open(one, 'accepted');
      await clock.advance(0);
      journal.step(one.id, 'crm_told', { detail: { status: 'pending' } });
      expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBeUndefined();
      await clock.advance(20);
      await until(async () => (await journal.lastStatus('loc1', 'msg1', 'another')) === 'pending');
      journal.step(one.id, 'crm_told', { detail: { status: 'failed' } });
      expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('pending');
      await journal.flush();
      expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('failed');
    });

    describe('under load, with one node', () => {
      beforeEach(() => {
        journal = createSqlJournal({ database, clock, log: silentLog, handleKeys: HANDLE_KEYS, holdMs: 200 });
      });

      it('A5 writes an accepted status within 250 ms, and within 20 ms afterwards', async () => {
        const tell = (id: string) => {
          journal.open(entry({ id, messageId: id }), 'accepted');
          journal.step(id, 'crm_told', { detail: { status: 'pending' } });
        };
        const isWritten = async (messageId: string) =>
          (await journal.lastStatus('loc1', messageId, 'another')) === 'pending';
        for (let n = 0; n < 60; n++) tell(`many-${n}`);
        await clock.advance(150);
        tell('later');
        await clock.advance(49);
        expect(await isWritten('many-0')).toBe(false);
        await clock.advance(51);
        await until(() => isWritten('many-0'));
        expect(await isWritten('later')).toBe(false);
        await clock.advance(50);
        await until(() => isWritten('later'));
        tell('alone');
        await clock.advance(20);
        await until(() => isWritten('alone'));
      });

      it('writes a message once, with all its steps', async () => {
        for (let n = 0; n < 60; n++) journal.open(entry({ id: `many-${n}` }), 'accepted');
        await clock.advance(190);
        for (let n = 0; n < 60; n++) journal.step(`many-${n}`, 'mac_says', { state: 'delivered' });
        await clock.advance(60);
        const stored = await until(async () => {
          const rows = await database.db.selectFrom('messages').select(['status', 'steps']).execute();
          return rows.length === 60 && rows;
        });
        expect(
          stored.every(({ status, steps }) => status === 'delivered' && steps?.includes('mac_says')),
        ).toBe(true);
        expect(await database.db.selectFrom('message_steps').selectAll().execute()).toEqual([]);
      });
    });

    it('A5 writes an accepted status within 50 ms under load, with several nodes', async () => {
      for (let n = 0; n < 60; n++) {
        journal.open(entry({ id: `many-${n}`, messageId: `many-${n}` }), 'accepted');
        journal.step(`many-${n}`, 'crm_told', { detail: { status: 'pending' } });
      }
      await clock.advance(50);
      await until(async () => (await journal.lastStatus('loc1', 'many-59', 'another')) === 'pending');
    });

    it('A5 keeps the statuses of a message whose node was killed before it wrote the entry', async () => {
      const { id } = entry();
      journal.step(id, 'written', { state: 'written' });
      journal.step(id, 'crm_told', {
        state: 'pending',
        detail: { status: 'pending' },
        message: { locationId: 'loc1', messageId: 'msg1' },
      });
      await clock.advance(20);
      journal.step(id, 'mac_says', { state: 'delivered' });
      journal.step(id, 'crm_told', {
        detail: { status: 'delivered' },
        message: { locationId: 'loc1', messageId: 'msg1' },
      });
      await journal.flush();
      expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBeUndefined();
      await clock.advance(2000);
      await journal.flush();
      expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('delivered');
      expect(await journal.show(id)).toMatchObject({ locationId: 'loc1', state: 'delivered' });
      // The node was only slow.
      journal.open({ ...entry({ kind: 'sticker', length: 7 }), id }, 'accepted');
      expect(await journal.show(id)).toMatchObject({
        locationId: 'loc1',
        state: 'delivered',
        kind: 'sticker',
        length: 7,
        phoneMasked: '+1•••0100',
      });
      expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('delivered');
    });

    it('keeps a change until the node that opened its message has written it, however often it reads', async () => {
      const other = createSqlJournal({ database, clock, log: silentLog, handleKeys: HANDLE_KEYS });
      other.step('slow', 'mac_says', {
        state: 'delivered',
        message: { locationId: 'loc1', messageId: 'msg1' },
      });
      for (let read = 0; read < 30; read++) {
        await other.flush();
        await clock.advance(5);
      }
      journal.open(entry({ id: 'slow', length: 7 }), 'accepted');
      await journal.flush();
      await clock.advance(200);
      await until(async () => (await other.show('slow'))?.state === 'delivered');
      expect(await other.show('slow')).toMatchObject({ length: 7, phoneMasked: '+1•••0100' });
      await other.close();
    });

    it('writes at most once for many reads at the same time, also while changes wait for another node', async () => {
      const { db, commit } = database;
      let commits = 0;
      const counting = createSqlJournal({
        database: { db, commit: (queries) => (commits++, commit(queries)) },
        clock,
        log: silentLog,
        handleKeys: HANDLE_KEYS,
      });
      const readAll = () => Promise.all(Array.from({ length: 50 }, () => counting.lastInbound(0)));
      counting.step('of-another-node', 'mac_says', { state: 'delivered' });
      await readAll();
      // The first read writes; the others share the next write, because something may have changed since the first began.
      expect(commits).toBe(2);
      await readAll();
      expect(commits).toBe(4);
      await counting.close();
    });

    it('does not report that it can write again before it has written', async () => {
      const { db, commit } = database;
      const logged: string[] = [];
      const note = ({ event }: { event: string }) => void logged.push(event);
      let isAway = true;
      const failing = createSqlJournal({
        database: {
          db,
          commit: (queries) => (isAway ? Promise.reject(new Error('away')) : commit(queries)),
        },
        clock,
        log: { ...silentLog, info: note, warn: note },
        handleKeys: HANDLE_KEYS,
      });
      for (let n = 0; n < 60; n++) failing.open(entry({ id: `many-${n}` }), 'accepted');
      await failing.flush();
      for (let n = 0; n < 60; n++) failing.open(entry({ id: `more-${n}` }), 'accepted');
      await clock.advance(1000);
      expect(logged).toEqual(['journal.write_failed']);
      isAway = false;
      await failing.close();
      expect(logged).toEqual(['journal.write_failed', 'journal.writable']);
    });

    it('reads the last status of many messages at once', async () => {
      const ids = Array.from({ length: 150 }, (_, index) => `m${index}`);
      for (const messageId of ids) {
        const one = entry({ messageId });
        journal.open(one, 'accepted');
        journal.step(one.id, 'crm_told', { detail: { status: 'pending' } });
      }
      await journal.show('wait for the flush');
      const found = await Promise.all(
        [...ids, 'none'].map((id) => journal.lastStatus('loc1', id, 'another')),
      );
      expect(found).toEqual([...ids.map(() => 'pending'), undefined]);
    });

    it('prunes old messages and their steps', async () => {
      const old = Array.from({ length: 1203 }, () => entry());
      for (const one of old) journal.open(one, 'accepted');
      journal.step(newRequestId(clock.now()), 'mac_says');
      await clock.advance(1000);
      await journal.show('wait for the flush');
      for (const { id } of old) journal.step(id, 'written');
      await clock.advance(1000);
      await journal.show('wait for the flush');
      await clock.advance(31 * DAY);
      const recent = entry();
      journal.open(recent, 'accepted');
      await journal.show(recent.id);
      journal.step(recent.id, 'written');
      await journal.show(recent.id);
      expect(await journal.prune(30 * DAY)).toBe(1203);
      expect(await count('messages')).toBe(1);
      expect(await count('message_steps')).toBe(1);
    });

    it('T54 lets other work run while it deletes many messages', async () => {
      const insert = async () => {
        await sql`
          WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2000)
          INSERT INTO messages (id, direction, location_id, kind, status, phone_hash, length, created_at, updated_at)
          SELECT 'old-' || n, 'outbound', 'loc1', 'text', 'accepted', ${hashOf(PHONE)}, 1, 1, 1 FROM numbers`.execute(
          database.db,
        );
      };
      await insert();
      expect(await turnsDuring(() => journal.prune(30 * DAY))).toBeGreaterThanOrEqual(10);
      await insert();
      expect(await turnsDuring(() => journal.erase({ handle: PHONE }))).toBeGreaterThanOrEqual(10);
      expect(await count('messages')).toBe(0);
    });

    it('prunes the messages of some locations earlier or later than the others', async () => {
      for (const locationId of ['short', 'long', 'other']) {
        journal.open(entry({ id: `${locationId} old`, locationId }), 'accepted');
        await journal.show('wait for the flush');
        journal.step(`${locationId} old`, 'written');
      }
      await clock.advance(20 * DAY);
      for (const locationId of ['short', 'long', 'other'])
        journal.open(entry({ id: `${locationId} new`, locationId }), 'accepted');
      await journal.show('wait for the flush');
      await clock.advance(20 * DAY);
      const kept = new Map([
        ['short', 10 * DAY],
        ['long', 100 * DAY],
      ]);
      expect(await journal.prune(30 * DAY, kept)).toBe(3);
      expect((await journal.list({ limit: 10 })).messages.map(({ id }) => id).toSorted()).toEqual([
        'long new',
        'long old',
        'other new',
      ]);
      expect((await journal.show('long old'))?.steps).toHaveLength(2);
    });

    it('notifies listeners of the first state of a message, given or not', () => {
      const states: unknown[] = [];
      journal.listen(({ recorded }) => states.push(recorded.state));
      journal.open({ ...entry(), direction: 'inbound' }, 'received', { detail: { seq: 1 } });
      journal.open(entry(), 'accepted');
      journal.open(entry(), 'rejected', { state: 'rejected' });
      expect(states).toEqual(['received', 'accepted', 'rejected']);
    });

    it('notifies listeners, and returns missed events', async () => {
      const received: JournalEvent[] = [];
      const stop = journal.listen((event) => received.push(event));
      const one = entry();
      journal.open(one, 'accepted');
      stop();
      journal.step(one.id, 'written', { state: 'written' });
      journal.step(one.id, 'mac_says', { state: 'delivered' });
      expect(received.map(({ step, message }) => [step, message?.locationId])).toEqual([
        ['accepted', 'loc1'],
      ]);
      const { events, gap } = journal.since(received[0]?.id);
      expect(gap).toBe(false);
      expect(events.map(({ step }) => step)).toEqual(['written', 'mac_says']);
      expect(journal.since(events[1]?.id)).toEqual({ events: [], gap: false });
      expect(journal.since(undefined)).toEqual({ events: [], gap: false });
    });

    it('reports a gap when events are no longer kept, or belong to another process', async () => {
      const one = entry();
      journal.open(one, 'accepted');
      const [first] = journal.since('another-0').events;
      expect(journal.since('another-0')).toMatchObject({ gap: true });
      for (let index = 0; index < 1500; index++) journal.step(one.id, 'mac_says');
      const late = journal.since(first?.id);
      expect(late.gap).toBe(true);
      expect(late.events).toHaveLength(1000);
      expect(journal.since('not an id').gap).toBe(true);
    });
  });
}

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
