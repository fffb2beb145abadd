import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { expect, it } from 'vitest';

import { HANDLE_KEYS, onJournals } from './journal.fixture.ts';
import { createJournal } from './journal-sql.ts';

onJournals('journal nodes', (fixture) => {
  const { entry } = fixture;

  it('merges the steps of two nodes, in whichever order they write', async () => {
    const { database, clock, journal } = fixture;
    const one = entry();
    const other = createJournal({ database, clock, log: silentLog, handleKeys: HANDLE_KEYS });
    other.step(one.id, 'written', { state: 'written' });
    expect(await other.show(one.id)).toBeUndefined();
    journal.open(one, 'accepted');
    expect(await journal.show(one.id)).toMatchObject({ state: 'accepted' });
    const trail = await other.show(one.id);
    expect(trail?.state).toBe('written');
    expect(trail?.steps.map(({ step }) => step).toSorted()).toEqual(['accepted', 'written']);
    await other.close();
  });

  it('A5 keeps the statuses of a message whose node was killed before it wrote the entry', async () => {
    const { clock, journal } = fixture;
    const { id } = entry();
    journal.step(id, 'written', { state: 'written' });
    journal.step(id, 'status_sent', {
      state: 'pending',
      detail: { status: 'pending' },
      message: { locationId: 'loc1', messageId: 'msg1' },
    });
    await clock.advance(20);
    journal.step(id, 'mac_reported', { state: 'delivered' });
    journal.step(id, 'status_sent', {
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
    const { database, clock, journal } = fixture;
    const other = createJournal({ database, clock, log: silentLog, handleKeys: HANDLE_KEYS });
    other.step('slow', 'mac_reported', {
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

  const message = { locationId: 'loc1', messageId: 'msg1' };

  it('A5 keeps the state of a message that another node opened over an outage of the database', async () => {
    const { clock, openNode } = fixture;
    for (const isOpenerAlive of [true, false]) {
      const { id } = entry();
      const [opener, other] = [openNode(), openNode()];
      opener.isOffline = other.isOffline = true;
      if (isOpenerAlive) opener.journal.open(entry({ id }), 'accepted');
      other.journal.step(id, 'mac_reported', { state: 'delivered', message });
      await clock.advance(11_000);
      opener.isOffline = other.isOffline = false;
      await other.journal.flush();
      await opener.journal.flush();
      await clock.advance(2000);
      await other.journal.flush();
      expect(await fixture.journal.show(id)).toMatchObject({ state: 'delivered' });
      await Promise.all([opener.journal.close(), other.journal.close()]);
    }
  });

  it('keeps code and times when the node that opened a message writes it late', async () => {
    const { clock, journal, openNode } = fixture;
    const opener = openNode();
    const { id } = entry();
    const createdAt = clock.now();
    opener.isOffline = true;
    opener.journal.open(entry({ id }), 'accepted');
    await clock.advance(100);
    const updatedAt = clock.now();
    journal.step(id, 'mac_reported', { state: 'failed', code: 'TIMEOUT', message });
    await journal.flush();
    await clock.advance(2000);
    await journal.flush();
    opener.isOffline = false;
    await opener.journal.close();
    expect(await journal.show(id)).toMatchObject({ state: 'failed', code: 'TIMEOUT', createdAt, updatedAt });
  });

  it('keeps the state of a message that another node opened when it closes', async () => {
    const { journal, openNode } = fixture;
    const stopping = openNode();
    const { id } = entry();
    journal.open(entry({ id, length: 7 }), 'accepted');
    stopping.journal.step(id, 'mac_reported', { state: 'delivered', message });
    await stopping.journal.close();
    expect(await journal.show(id)).toMatchObject({ state: 'delivered', length: 7 });
  });

  it('keeps the final state of a message when another node writes an earlier one late', async () => {
    const { clock, journal, openNode } = fixture;
    const { id } = entry();
    const [writing, telling] = [openNode(), openNode()];
    writing.isOffline = telling.isOffline = true;
    journal.open(entry({ id }), 'accepted');
    writing.journal.step(id, 'written', { state: 'written' });
    telling.journal.step(id, 'status_sent', { state: 'pending', detail: { status: 'pending' }, message });
    await clock.advance(10);
    const updatedAt = clock.now();
    journal.step(id, 'mac_reported', { state: 'failed', code: 'TIMEOUT' });
    await journal.flush();
    writing.isOffline = telling.isOffline = false;
    await clock.advance(10);
    await telling.journal.close();
    await writing.journal.close();
    expect(await journal.show(id)).toMatchObject({ state: 'failed', code: 'TIMEOUT', updatedAt });
  });

  it('keeps the final state of a message whose entry and earlier states are written late', async () => {
    const { clock, journal, openNode } = fixture;
    const { id } = entry();
    const opener = openNode();
    opener.isOffline = true;
    opener.journal.open(entry({ id }), 'accepted');
    opener.journal.step(id, 'written', { state: 'written' });
    journal.step(id, 'mac_reported', { state: 'delivered', message });
    await journal.flush();
    await clock.advance(2000);
    await journal.flush();
    opener.isOffline = false;
    await opener.journal.close();
    expect(await journal.show(id)).toMatchObject({ state: 'delivered', phoneMasked: '+1•••0100' });
  });

  it('A5 finds that a repeat was delivered whose entry another node wrote later', async () => {
    const { clock, journal, openNode } = fixture;
    const { id } = entry();
    journal.step(id, 'status_sent', { detail: { status: 'delivered' }, message, isRepeat: true });
    await journal.flush();
    const opener = openNode();
    opener.journal.open(entry({ id }), 'accepted');
    await opener.journal.close();
    await clock.advance(200);
    await journal.flush();
    const { db } = fixture.database;
    const row = await db
      .selectFrom('messages')
      .select(['told', 'status'])
      .where('id', '=', id)
      .executeTakeFirst();
    expect(row).toEqual({ told: 'delivered', status: 'accepted' });
  });

  it('writes other messages when a repeat without a state has no entry, or none any more', async () => {
    const { clock, journal, openNode } = fixture;
    const told = { detail: { status: 'delivered' }, message, isRepeat: true };
    const closing = openNode();
    closing.journal.step('erased-1', 'status_sent', told);
    closing.journal.open(entry({ id: 'other-1' }), 'accepted');
    await closing.journal.close();
    journal.step('erased-2', 'status_sent', told);
    await journal.flush();
    await clock.advance(2500);
    journal.open(entry({ id: 'other-2' }), 'accepted');
    await journal.flush();
    for (const id of ['other-1', 'other-2'])
      expect(await journal.show(id)).toMatchObject({ state: 'accepted' });
  });

  it('keeps the state of a message that one node wrote to a Mac and another rejected, because it got no response', async () => {
    const { journal, openNode } = fixture;
    for (const isRejectedFirst of [true, false]) {
      const { id } = entry();
      const other = openNode();
      journal.open(entry({ id }), 'accepted');
      journal.step(id, 'rejected', { state: 'rejected', detail: { isCertain: false } });
      if (isRejectedFirst) await journal.flush();
      other.journal.step(id, 'written', { state: 'written' });
      other.journal.step(id, 'status_sent', { state: 'pending', detail: { status: 'pending' }, message });
      await other.journal.flush();
      await journal.flush();
      await other.journal.close();
      expect(await journal.show(id)).toMatchObject({ state: 'pending' });
    }
  });
});
