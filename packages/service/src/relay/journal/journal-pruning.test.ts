import { newRequestId } from '@footbridge/protocol/ids';
import { turnsDuring } from '@footbridge/testkit/turns-during';
import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { HANDLE_KEYS, onJournals, PHONE } from './journal.fixture.ts';
import { keyedHash } from '../people/handles.ts';

const DAY = 86_400_000;
const hashOf = (handle: string) => keyedHash(HANDLE_KEYS).handle(handle)[0] ?? '';

onJournals('journal pruning', (fixture) => {
  const { entry, count } = fixture;

  it('prunes old messages and their steps', async () => {
    const { clock, journal } = fixture;
    const old = Array.from({ length: 1203 }, () => entry());
    for (const one of old) journal.open(one, 'accepted');
    journal.step(newRequestId(clock.now()), 'mac_reported');
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
    const { database, journal } = fixture;
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
    expect(await turnsDuring(() => journal.erase({ handles: [PHONE] }))).toBeGreaterThanOrEqual(10);
    expect(await count('messages')).toBe(0);
  });

  it('prunes the messages of some locations earlier or later than the others', async () => {
    const { clock, journal } = fixture;
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
});
