import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';

import { HANDLE_KEYS, onJournals } from './journal.fixture.ts';
import { createJournal } from './journal-sql.ts';
import { storedName } from './journal-sql-writer.ts';

onJournals('journal writes', (fixture) => {
  const { entry, count } = fixture;

  it('writes nothing immediately and everything within the flush interval', async () => {
    const { clock, journal } = fixture;
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
    const { clock, journal } = fixture;
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
    const { journal } = fixture;
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
    const { database, journal } = fixture;
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
    const { clock, journal } = fixture;
    const entries = Array.from({ length: 75 }, () => entry());
    for (const one of entries) journal.open(one, 'accepted');
    await journal.show('wait for the flush');
    await clock.advance(1);
    for (const one of entries) journal.step(one.id, 'mac_reported', { state: 'delivered' });
    const { messages } = await journal.list({ limit: 200 });
    expect(messages.map(({ state }) => state)).toEqual(Array.from({ length: 75 }, () => 'delivered'));
    expect(messages.every(({ createdAt, updatedAt }) => updatedAt > createdAt)).toBe(true);
  });

  it('keeps one entry for an inbound message that is received again', async () => {
    const { clock, journal } = fixture;
    const one = entry({ id: 'inbound-1', direction: 'inbound', messageId: 'guid-1' });
    journal.open(one, 'received');
    journal.step(one.id, 'parked', { state: 'undeliverable', code: 'NO_CONTACT' });
    await clock.advance(1000);
    journal.open(one, 'received');
    journal.step(one.id, 'crm_accepted', { state: 'delivered' });
    expect(await journal.show('guid-1')).toMatchObject({ state: 'delivered', code: null });
    expect(await count('messages')).toBe(1);
  });

  it('A5 writes an accepted status within 20 ms, and on request at once', async () => {
    const { clock, journal } = fixture;
    const one = entry();
    journal.open(one, 'accepted');
    await clock.advance(0);
    journal.step(one.id, 'status_sent', { detail: { status: 'pending' } });
    expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBeUndefined();
    await clock.advance(20);
    await until(async () => (await journal.lastStatus('loc1', 'msg1', 'another')) === 'pending');
    journal.step(one.id, 'status_sent', { detail: { status: 'failed' } });
    expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('pending');
    await journal.flush();
    expect(await journal.lastStatus('loc1', 'msg1', 'another')).toBe('failed');
  });

  describe('under load, with one node', () => {
    let lastCommit: Promise<unknown> | undefined;
    beforeEach(() => {
      const { database, clock } = fixture;
      fixture.journal = createJournal({
        database: { ...database, commit: (queries) => (lastCommit = database.commit(queries)) },
        clock,
        log: silentLog,
        handleKeys: HANDLE_KEYS,
        holdMs: 200,
      });
    });

    it('A5 writes an accepted status within 250 ms, and within 20 ms afterwards', async () => {
      const { clock, journal } = fixture;
      const tell = (id: string) => {
        journal.open(entry({ id, messageId: id }), 'accepted');
        journal.step(id, 'status_sent', { detail: { status: 'pending' } });
      };
      const isWritten = async (messageId: string) =>
        (await journal.lastStatus('loc1', messageId, 'another')) === 'pending';
      /** Other connections see a commit before the journal does, which then schedules the next write. */
      const written = async (messageId: string) => {
        await until(() => isWritten(messageId));
        await lastCommit;
      };
      for (let n = 0; n < 60; n++) tell(`many-${n}`);
      await clock.advance(150);
      tell('later');
      await clock.advance(49);
      expect(await isWritten('many-0')).toBe(false);
      await clock.advance(51);
      await written('many-0');
      expect(await isWritten('later')).toBe(false);
      await clock.advance(50);
      await written('later');
      tell('alone');
      await clock.advance(20);
      await written('alone');
    });

    it('writes a message once, with all its steps', async () => {
      const { database, clock, journal } = fixture;
      for (let n = 0; n < 60; n++) journal.open(entry({ id: `many-${n}` }), 'accepted');
      await clock.advance(190);
      for (let n = 0; n < 60; n++) journal.step(`many-${n}`, 'mac_reported', { state: 'delivered' });
      await clock.advance(60);
      const stored = await until(async () => {
        const rows = await database.db.selectFrom('messages').select(['status', 'steps']).execute();
        return rows.length === 60 && rows;
      });
      expect(
        stored.every(
          ({ status, steps }) => status === 'delivered' && steps?.includes(storedName('mac_reported')),
        ),
      ).toBe(true);
      expect(await database.db.selectFrom('message_steps').selectAll().execute()).toEqual([]);
    });
  });

  it('A5 writes an accepted status within 50 ms under load, with several nodes', async () => {
    const { clock, journal } = fixture;
    for (let n = 0; n < 60; n++) {
      journal.open(entry({ id: `many-${n}`, messageId: `many-${n}` }), 'accepted');
      journal.step(`many-${n}`, 'status_sent', { detail: { status: 'pending' } });
    }
    await clock.advance(50);
    await until(async () => (await journal.lastStatus('loc1', 'many-59', 'another')) === 'pending');
  });

  it('begins another block after a thousand messages, also when it only writes changes in between', async () => {
    const { database, journal } = fixture;
    const blockOfNew = async (id: string) => {
      journal.open(entry({ id }), 'accepted');
      await journal.flush();
      const row = await database.db
        .selectFrom('messages')
        .select('block')
        .where('id', '=', id)
        .executeTakeFirst();
      return row?.block;
    };
    const first = await blockOfNew('first');
    for (let n = 0; n < 1100; n++) journal.open(entry({ id: `many-${n}` }), 'accepted');
    await journal.flush();
    journal.step('first', 'written', { state: 'written' });
    await journal.flush();
    const second = await blockOfNew('second');
    expect(second).not.toBe(first);
    expect(await blockOfNew('third')).toBe(second);
  });

  it('writes at most once for many reads at the same time, also while changes wait for another node', async () => {
    const { database, clock } = fixture;
    const { commit } = database;
    let commits = 0;
    const counting = createJournal({
      database: { ...database, commit: (queries) => (commits++, commit(queries)) },
      clock,
      log: silentLog,
      handleKeys: HANDLE_KEYS,
    });
    const readAll = () => Promise.all(Array.from({ length: 50 }, () => counting.lastInbound(0)));
    counting.step('of-another-node', 'mac_reported', { state: 'delivered' });
    await readAll();
    // The first read writes; the others share the next write, because something may have changed since the first began.
    expect(commits).toBe(2);
    await readAll();
    expect(commits).toBe(4);
    await counting.close();
  });

  it('the journal does not log that it is writable again before it has written', async () => {
    const { database, clock } = fixture;
    const { commit } = database;
    const logged: string[] = [];
    const note = ({ event }: { event: string }) => void logged.push(event);
    let isAway = true;
    const failing = createJournal({
      database: {
        ...database,
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

  it('writes each step once when a write fails while a change waits for another node', async () => {
    const { clock, openNode } = fixture;
    const { id } = entry();
    const node = openNode({ holdMs: 200 });
    node.journal.step(id, 'written', { state: 'written' });
    await node.journal.flush();
    for (let n = 0; n < 60; n++) node.journal.open(entry({ id: `many-${n}` }), 'accepted');
    node.isOffline = true;
    await node.journal.flush();
    node.journal.step(id, 'mac_reported', { state: 'delivered' });
    node.isOffline = false;
    await clock.advance(50);
    node.journal.open(entry({ id }), 'accepted');
    const trail = await node.journal.show(id);
    expect(trail?.steps.map(({ step }) => step).toSorted()).toEqual(['accepted', 'mac_reported', 'written']);
    await node.journal.close();
  });

  it('lets a read finish while another caller flushes again and again', async () => {
    const { journal } = fixture;
    const { id } = entry();
    const most = 300;
    let isRead = false;
    let flushes = 0;
    const flushing = async () => {
      for (; flushes < most; flushes++) {
        if (isRead) return;
        journal.step(id, 'written', { state: 'written' });
        await journal.flush();
      }
    };
    const flushed = flushing();
    const read = journal.show(id).then(() => (isRead = true));
    await Promise.all([flushed, read]);
    // With PostgreSQL, the read may need a new connection, which takes as long as many flushes.
    expect(flushes).toBeLessThan(most);
  });

  it('writes a step that is recorded while it closes', async () => {
    const { journal, database } = fixture;
    const { id } = entry();
    journal.open(entry({ id }), 'accepted');
    const closed = journal.close();
    journal.step(id, 'written', { state: 'written' });
    await closed;
    const [row] = await database.db.selectFrom('messages').select('status').execute();
    expect(row?.status).toBe('written');
  });
});
