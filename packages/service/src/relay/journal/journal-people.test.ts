import { silentLog } from '@footbridge/testkit/silent-log';
import { expect, it } from 'vitest';

import { HANDLE_KEYS, onJournals, PHONE } from './journal.fixture.ts';
import { createJournal } from './journal-sql.ts';

const DAY_MS = 86_400_000;

onJournals('journal people', (fixture) => {
  const { entry } = fixture;

  it('finds the messages of a customer by phone number and by contact', async () => {
    const { clock, journal } = fixture;
    journal.open(entry({ id: 'out-1', contactId: 'contact-1' }), 'accepted');
    journal.open(entry({ id: 'in-1', direction: 'inbound' }), 'received');
    journal.open(entry({ id: 'other', handle: '+15555550199', contactId: 'contact-2' }), 'accepted');
    await clock.advance(200);
    journal.step('in-1', 'crm_accepted', { state: 'delivered', contactId: 'contact-1' });
    const list = async (query: object) =>
      (await journal.list({ limit: 10, ...query })).messages.map(({ id }) => id).toSorted();
    expect(await list({ handles: ['+1 (555) 555-0100'] })).toEqual(['in-1', 'out-1']);
    expect(await list({ handles: ['+15555550101'] })).toEqual([]);
    expect(await list({ contactId: 'contact-1' })).toEqual(['in-1', 'out-1']);
    expect(await list({ contactId: 'contact-2' })).toEqual(['other']);
  });

  it('finds the messages of several numbers newest first, page by page', async () => {
    const { clock, journal } = fixture;
    for (const [id, handle] of [
      ['m1', '5555550100'],
      ['m2', PHONE],
      ['m3', '5555550100'],
      ['other', '+15555550199'],
    ] as const) {
      journal.open(entry({ id, handle }), 'accepted');
      await clock.advance(1000);
    }
    const handles = [PHONE, '5555550100', PHONE];
    const first = await journal.list({ limit: 2, handles });
    const second = await journal.list({ limit: 2, handles, cursor: first.cursor ?? '' });
    expect([first, second].map(({ messages }) => messages.map(({ id }) => id))).toEqual([
      ['m3', 'm2'],
      ['m1'],
    ]);
    expect(second.cursor).toBeNull();
  });

  it('keeps the contact of a message that is opened again before it was written', async () => {
    const { journal } = fixture;
    const inbound = entry({ id: 'in-1', direction: 'inbound' });
    journal.open(inbound, 'received');
    journal.step('in-1', 'crm_refused', { state: 'received', contactId: 'contact-1' });
    journal.open(inbound, 'received');
    const { messages } = await journal.list({ limit: 10, contactId: 'contact-1' });
    expect(messages.map(({ id }) => id)).toEqual(['in-1']);
  });

  it('finds and erases the messages of a person, including requests without a number for the same contact', async () => {
    const { database, journal } = fixture;
    const out = entry({ id: 'out', contactId: 'contact-1' });
    journal.open(out, 'accepted');
    journal.open(entry({ id: 'in', direction: 'inbound', locationId: 'loc2' }), 'received');
    journal.open(entry({ id: 'no-number', handle: null, contactId: 'contact-1' }), 'rejected');
    journal.open(entry({ id: 'other', handle: '+15555550199', contactId: 'contact-2' }), 'accepted');
    journal.open(entry({ id: 'shared', handle: '+15555550199', contactId: 'contact-1' }), 'accepted');
    journal.open(entry({ id: 'unknown', handle: null, contactId: null }), 'rejected');
    const ids = async (query: object) =>
      (await journal.ofPerson({ handles: [PHONE], limit: 10, ...query })).messages
        .map(({ id }) => id)
        .toSorted();
    expect(await ids({})).toEqual(['in', 'no-number', 'out']);
    expect(await ids({ handles: ['+15555550101'] })).toEqual([]);
    expect(await ids({ locationIds: ['loc2'] })).toEqual(['in']);
    expect(await ids({ locationIds: [] })).toEqual([]);
    const first = await journal.ofPerson({ handles: [PHONE], limit: 2 });
    const rest = await journal.ofPerson({ handles: [PHONE], limit: 2, cursor: first.cursor ?? '' });
    expect([first.messages.length, rest.messages.length, rest.cursor]).toEqual([2, 1, null]);
    expect(rest.messages[0]?.steps).toHaveLength(1);

    expect(await journal.erase({ handles: [PHONE], locationIds: [] })).toBe(0);
    expect(await journal.erase({ handles: [PHONE], locationIds: ['loc2'] })).toBe(1);
    journal.step('out', 'written');
    expect(await journal.erase({ handles: [PHONE] })).toBe(2);
    expect(await journal.erase({ handles: [PHONE] })).toBe(0);
    expect((await journal.list({ limit: 10 })).messages.map(({ id }) => id).toSorted()).toEqual([
      'other',
      'shared',
      'unknown',
    ]);
    const steps = await database.db.selectFrom('message_steps').select('message_id').execute();
    expect(steps.filter(({ message_id }) => message_id === 'out')).toEqual([]);
  });

  it('finds and erases the messages of a person in every given form of the number, each once', async () => {
    const { journal } = fixture;
    journal.open(entry({ id: 'complete', contactId: 'contact-1' }), 'accepted');
    journal.open(entry({ id: 'reported', handle: '(555) 555-0100', contactId: 'contact-2' }), 'received');
    journal.open(entry({ id: 'no-number', handle: null, contactId: 'contact-2' }), 'rejected');
    journal.open(entry({ id: 'other', handle: '+15555550199' }), 'accepted');
    const person = { handles: [PHONE, '+1 555 555 0100', '5555550100'] };
    const { messages } = await journal.ofPerson({ ...person, limit: 10 });
    expect(messages.map(({ id }) => id).toSorted()).toEqual(['complete', 'no-number', 'reported']);
    expect(await journal.erase(person)).toBe(3);
    expect((await journal.list({ limit: 10 })).messages.map(({ id }) => id)).toEqual(['other']);
  });

  it('finds and erases the messages of a person in all blocks, newest first', async () => {
    const { database, clock, journal } = fixture;
    for (let day = 0; day < 3; day++) {
      journal.open(entry({ id: `message-${day}`, contactId: 'contact-1' }), 'accepted');
      journal.open(entry({ id: `other-${day}`, handle: '+15555550199' }), 'accepted');
      await journal.flush();
      await clock.advance(DAY_MS);
    }
    const [template] = await database.db
      .selectFrom('messages')
      .selectAll()
      .where('id', '=', 'message-0')
      .execute();
    if (template === undefined) throw new Error('the message was not written');
    // The block does not tell the time: several processes may write, and the clock may be set back.
    const rows = Array.from({ length: 300 }, (_, n) => ({
      ...template,
      id: `row-${100 + n}`,
      created_at: template.created_at + ((n * 7) % 50),
      block: (n * 13) % 41,
    }));
    await database.db.insertInto('messages').values(rows).execute();
    const all = await database.db
      .selectFrom('messages')
      .select('id')
      .where('id', 'not like', 'other%')
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .execute();
    for (const person of [{ handles: [PHONE] }, { contactId: 'contact-1' }]) {
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const page = await journal.list({ limit: 25, ...person, ...(cursor !== null && { cursor }) });
        found.push(...page.messages.map(({ id }) => id));
        cursor = page.cursor;
      } while (cursor !== null && found.length < 400);
      expect(found).toEqual(all.map(({ id }) => id));
    }
    expect((await journal.ofPerson({ handles: [PHONE], limit: 400 })).messages).toHaveLength(303);
    expect(await journal.erase({ handles: [PHONE] })).toBe(303);
    expect((await journal.list({ limit: 20 })).messages).toHaveLength(3);
  });

  it('finds the messages of a person with many contacts at a thousand locations', async () => {
    const { journal } = fixture;
    for (let n = 0; n < 40; n++) {
      journal.open(entry({ id: `message-${n}`, contactId: `contact-${n}` }), 'accepted');
      journal.open(entry({ id: `no-number-${n}`, handle: null, contactId: `contact-${n}` }), 'rejected');
    }
    const locationIds = Array.from({ length: 1000 }, (_, n) => `loc${n}`);
    const { messages } = await journal.ofPerson({ handles: [PHONE], limit: 100, locationIds });
    expect(messages).toHaveLength(80);
  });

  it('finds a phone number that was stored with an earlier key, and stores none in clear', async () => {
    const { database, clock, journal } = fixture;
    journal.open(entry({ id: 'old', contactId: 'contact-1' }), 'accepted');
    await clock.advance(200);
    await journal.flush();
    const handleKeys = [Buffer.alloc(32, 2), ...HANDLE_KEYS];
    const rotated = createJournal({ database, clock, log: silentLog, handleKeys });
    rotated.open(entry({ id: 'new', contactId: 'contact-1' }), 'accepted');
    const { messages } = await rotated.list({ limit: 10, handles: [PHONE] });
    expect(messages.map(({ id }) => id)).toEqual(['new', 'old']);
    const first = await rotated.list({ limit: 1, handles: [PHONE], contactId: 'contact-1' });
    const cursor = first.cursor ?? '';
    const second = await rotated.list({ limit: 1, handles: [PHONE], contactId: 'contact-1', cursor });
    await rotated.close();
    expect([...first.messages, ...second.messages].map(({ id }) => id)).toEqual(['new', 'old']);
    expect(second.cursor).toBeNull();
    const rows = await database.db.selectFrom('messages').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain('5555550100');
  });
});
