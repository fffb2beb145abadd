import { expect, it } from 'vitest';

import { onJournals } from './journal.fixture.ts';
import type { NewEntry } from './journal.ts';

const DAY = 86_400_000;

onJournals('journal reads', (fixture) => {
  const { entry } = fixture;

  it('returns all steps of a message in order', async () => {
    const { clock, journal } = fixture;
    const one = entry();
    journal.open(one, 'accepted');
    journal.step(one.id, 'written', { state: 'written', detail: { epoch: 7 } });
    await clock.advance(5);
    journal.step(one.id, 'status_sent', { state: 'pending', detail: { status: 'pending', http: 200 } });
    journal.step(one.id, 'mac_reported', { state: 'failed', code: 'TIMEOUT' });
    const trail = await journal.show(one.id);
    expect(trail).toMatchObject({ id: one.id, phoneMasked: '+1•••0100', state: 'failed', code: 'TIMEOUT' });
    expect(trail?.steps.map(({ step }) => step)).toEqual([
      'accepted',
      'written',
      'status_sent',
      'mac_reported',
    ]);
    expect(trail?.steps.map(({ detail }) => detail)).toEqual([
      null,
      { epoch: 7 },
      { status: 'pending', http: 200 },
      { code: 'TIMEOUT' },
    ]);
    expect(await journal.show('nothing')).toBeUndefined();
  });

  it('finds the newest message with an id of the CRM', async () => {
    const { clock, journal } = fixture;
    const [older, newer] = [entry(), entry()];
    journal.open(older, 'accepted');
    await clock.advance(1);
    journal.open(newer, 'accepted');
    expect((await journal.show('msg1'))?.id).toBe(newer.id);
  });

  it('finds the entries of an inbound message by location and guid, and the newest one by guid alone', async () => {
    const { clock, journal } = fixture;
    const message = { direction: 'inbound', locationId: 'loc1', messageId: 'guid-1' } as const;
    journal.open(entry({ ...message, id: 'in-1' }), 'received');
    await clock.advance(DAY);
    journal.open(entry({ ...message, id: 'in-2' }), 'received');
    journal.open(entry({ ...message, id: 'in-3', messageId: 'guid-3' }), 'received');
    expect(await journal.requestsOf(message)).toMatchObject([{ id: 'in-1' }, { id: 'in-2' }]);
    expect(await journal.requestsOf({ ...message, locationId: 'loc2' })).toEqual([]);
    expect(await journal.requestsOf({ ...message, messageId: 'guid-2' })).toEqual([]);
    expect(await journal.show('guid-1')).toMatchObject({ id: 'in-2' });
    expect(await journal.show('guid-2')).toBeUndefined();
  });

  it('finds an entry by id, messageId or guid only at the given locations', async () => {
    const { clock, journal } = fixture;
    const found = async (id: string, locationIds?: string[]) => (await journal.show(id, locationIds))?.id;
    for (const [direction, messageId] of [
      ['outbound', 'msg-1'],
      ['inbound', 'guid-1'],
    ] as const) {
      for (const locationId of ['loc1', 'loc2', 'loc3']) {
        const id = `${direction}-${locationId}`;
        journal.open(entry({ id, direction, locationId, messageId }), 'accepted');
        await clock.advance(1);
      }
      expect(await found(messageId)).toBe(`${direction}-loc3`);
      expect(await found(messageId, ['loc2', 'loc1', 'loc9'])).toBe(`${direction}-loc2`);
      expect(await found(messageId, ['loc9'])).toBeUndefined();
      expect(await found(messageId, [])).toBeUndefined();
    }
    expect(await found('outbound-loc3', ['loc3'])).toBe('outbound-loc3');
    expect(await found('outbound-loc3', ['loc1', 'loc2'])).toBeUndefined();
  });

  it('returns the code of an entry, null without one, and undefined for an unknown entry', async () => {
    const { journal } = fixture;
    journal.open(entry({ id: 'in-1', direction: 'inbound' }), 'received');
    expect(await journal.codeOf('in-1')).toBeNull();
    journal.step('in-1', 'crm_accepted', { state: 'delivered', code: 'UNCERTAIN' });
    expect(await journal.codeOf('in-1')).toBe('UNCERTAIN');
    expect(await journal.codeOf('in-2')).toBeUndefined();
  });

  it('lists messages in pages, newest first, each once', async () => {
    const { clock, journal } = fixture;
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
    const { clock, journal } = fixture;
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
    const { journal } = fixture;
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

  it('filters by kind, code and time', async () => {
    const { clock, journal } = fixture;
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

  it('returns the newest messages with their steps', async () => {
    const { clock, journal } = fixture;
    journal.open(entry({ id: 'old', contactId: 'contact-1' }), 'accepted');
    await clock.advance(1000);
    journal.open(entry({ id: 'new', locationId: 'loc2' }), 'accepted');
    await clock.advance(1000);
    journal.step('new', 'written');
    const [newest, ...others] = await journal.newest({ limit: 1 });
    expect(others).toEqual([]);
    expect(newest?.steps.map(({ step }) => step)).toEqual(['accepted', 'written']);
    expect((await journal.newest({ limit: 9, locationIds: ['loc1'] })).map(({ id }) => id)).toEqual(['old']);
  });
});
