import { FakeClock } from '@footbridge/testkit/fake-clock';
import { turnsDuring } from '@footbridge/testkit/turns-during';
import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { Guids } from './guids-sql.ts';

const DAY = 86_400_000;
const KEY = { locationId: 'loc', guid: 'guid-1' };
const START = new FakeClock().now();
const ENTRY = { entryId: 'entry-1' };
const CLAIMED = { kind: 'claimed', uncertain: false, isRedelivery: false, claimedAt: START, ...ENTRY };

onBothDatabases('GUIDs', (open) => {
  let database: OpenDatabase;
  let clock: FakeClock;
  let guids: Guids;
  let other: Guids;

  beforeEach(async () => {
    database = await open();
    clock = new FakeClock();
    guids = new Guids({ database, clock, owner: 'process-1' });
    other = new Guids({ database, clock, owner: 'process-2' });
  });

  it('I6 one process claims a message, and the next one gets its state', async () => {
    expect(await guids.claim(KEY, 'entry-1')).toEqual(CLAIMED);
    expect(await other.claim(KEY, 'entry-2')).toEqual({
      kind: 'held',
      owner: 'process-1',
      claimedAt: START,
      ...ENTRY,
    });
    await guids.sent(KEY, 'crm-1');
    expect(await guids.claim(KEY, 'entry-1')).toEqual({ kind: 'sent', ...ENTRY });
    expect(await other.claim(KEY, 'entry-2')).toEqual({ kind: 'sent', ...ENTRY });
  });

  it('I6 each pair of location and guid is claimed separately', async () => {
    await guids.claim(KEY, 'entry-1');
    expect(await other.claim({ ...KEY, guid: 'guid-2' }, 'entry-1')).toEqual(CLAIMED);
    expect(await other.claim({ ...KEY, locationId: 'loc2' }, 'entry-1')).toEqual(CLAIMED);
    await guids.sent(KEY, 'crm-1');
    expect(await guids.claim({ ...KEY, locationId: 'loc2' }, 'entry-1')).toEqual({
      kind: 'held',
      owner: 'process-2',
      claimedAt: START,
      ...ENTRY,
    });
  });

  it('I6 a process can repeat its own claim, and gets the entry id of the first', async () => {
    await guids.claim(KEY, 'entry-1');
    expect(await guids.claim(KEY, 'entry-1')).toEqual(CLAIMED);
    expect(await guids.claim(KEY, 'entry-2')).toEqual({ ...CLAIMED, uncertain: true });
  });

  it('I9 of two claims in the same transaction, only the repeated one is uncertain', async () => {
    await guids.claim(KEY, 'entry-1');
    const claims = [guids.claim(KEY, 'entry-2'), guids.claim({ ...KEY, guid: 'new' }, 'entry-3')];
    expect(await Promise.all(claims)).toEqual([
      { ...CLAIMED, uncertain: true },
      { ...CLAIMED, entryId: 'entry-3' },
    ]);
  });

  it('I6 the claim of an ended process is taken over once, and is uncertain', async () => {
    await guids.claim(KEY, 'entry-1');
    const third = new Guids({ database, clock, owner: 'process-3' });
    const taken = await Promise.all([other.takeOver(KEY, 'process-1'), third.takeOver(KEY, 'process-1')]);
    expect(taken.filter(Boolean)).toHaveLength(1);
    const winner = taken[0] ? other : third;
    expect(await winner.claim(KEY, 'entry-2')).toEqual({ ...CLAIMED, uncertain: true });
  });

  it('I9 an uncertain claim has the time of the first one', async () => {
    await guids.claim(KEY, 'entry-1');
    await clock.advance(5000);
    expect(await other.claim(KEY, 'entry-2')).toEqual({
      kind: 'held',
      owner: 'process-1',
      claimedAt: START,
      ...ENTRY,
    });
    await other.takeOver(KEY, 'process-1');
    await other.released(KEY, true);
    expect(await guids.claim(KEY, 'entry-2')).toEqual({ ...CLAIMED, uncertain: true });
  });

  it('I6 a claim that its owner finished is not taken over', async () => {
    await guids.claim(KEY, 'entry-1');
    await guids.sent(KEY, 'crm-1');
    expect(await other.takeOver(KEY, 'process-1')).toBe(false);
  });

  it('I6 any process can claim a rejected message again', async () => {
    await guids.claim(KEY, 'entry-1');
    await guids.rejected(KEY, false);
    await clock.advance(5000);
    const claimedAt = START + 5000;
    expect(await other.claim(KEY, 'entry-2')).toEqual({ ...CLAIMED, isRedelivery: true, claimedAt });
    expect(await guids.claim(KEY, 'entry-2')).toEqual({
      kind: 'held',
      owner: 'process-2',
      claimedAt,
      ...ENTRY,
    });
  });

  it('I9 a claim of a rejected message that may have reached the CRM is uncertain', async () => {
    await guids.claim(KEY, 'entry-1');
    await guids.rejected(KEY, true);
    await clock.advance(5000);
    expect(await other.claim(KEY, 'entry-2')).toEqual({ ...CLAIMED, uncertain: true, isRedelivery: true });
  });

  it('I9 any process can claim a released message at once', async () => {
    await guids.claim(KEY, 'entry-1');
    await guids.released(KEY, false);
    await clock.advance(5000);
    expect(await other.claim(KEY, 'entry-2')).toEqual({ ...CLAIMED, claimedAt: START + 5000 });
  });

  it('I9 a claim that another process took over is not released', async () => {
    await guids.claim(KEY, 'entry-1');
    await other.takeOver(KEY, 'process-1');
    await guids.released(KEY, false);
    expect(await guids.claim(KEY, 'entry-1')).toMatchObject({ kind: 'held', owner: 'process-2' });
    await other.sent(KEY, 'crm-1');
    await other.rejected(KEY, false);
    expect(await guids.claim(KEY, 'entry-1')).toEqual({ kind: 'sent', ...ENTRY });
  });

  it("I9 the CRM's ids that are recorded for other messages of the location are found", async () => {
    for (const [index, locationId] of ['loc', 'loc', 'loc2'].entries()) {
      const key = { locationId, guid: `g${index}` };
      await guids.claim(key, 'entry-1');
      await guids.sent(key, `crm-${index}`);
    }
    const ids = ['crm-0', 'crm-1', 'crm-2', 'crm-3'];
    expect(await guids.recordedForOthers(KEY, ids)).toEqual(new Set(['crm-0', 'crm-1']));
    expect(await guids.recordedForOthers({ ...KEY, guid: 'g0' }, ids)).toEqual(new Set(['crm-1']));
    expect(await guids.recordedForOthers(KEY, [])).toEqual(new Set());
  });

  it('I6 each of 150 simultaneous calls gets its own result', async () => {
    const keys = Array.from({ length: 150 }, (_, index) => ({ ...KEY, guid: `g${index}` }));
    const claims = await Promise.all(keys.map((key) => guids.claim(key, 'entry-1')));
    expect(claims.every(({ kind }) => kind === 'claimed')).toBe(true);
    const marked = keys.map((key, index) =>
      index % 3 === 0
        ? guids.sent(key, `crm-${index}`)
        : guids.claim({ ...key, locationId: 'loc2' }, 'entry-1'),
    );
    await Promise.all(marked);
    const again = await Promise.all(keys.map((key) => other.claim(key, 'entry-1')));
    expect(again.map(({ kind }) => kind)).toEqual(
      keys.map((_, index) => (index % 3 === 0 ? 'sent' : 'held')),
    );
  });

  it('I6 of simultaneous claims by two processes, those of exactly one succeed', async () => {
    const claims = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? guids : other).claim(KEY, 'entry-1')),
    );
    const kinds = new Set(claims.filter((_, index) => index % 2 === 0).map(({ kind }) => kind));
    const others = new Set(claims.filter((_, index) => index % 2 === 1).map(({ kind }) => kind));
    // A process can repeat its own claim; the other process gets none.
    expect([...kinds, ...others].toSorted()).toEqual(['claimed', 'held']);
  });

  it('I6 pruning deletes old messages', async () => {
    await guids.claim(KEY, 'entry-1');
    await guids.sent(KEY, 'crm-1');
    await clock.advance(31 * DAY);
    await guids.claim({ ...KEY, guid: 'recent' }, 'entry-1');
    expect(await guids.prune(30 * DAY)).toBe(1);
    expect(await guids.claim(KEY, 'entry-1')).toEqual({ ...CLAIMED, claimedAt: START + 31 * DAY });
    expect(await other.claim({ ...KEY, guid: 'recent' }, 'entry-1')).toMatchObject({ kind: 'held' });
  });

  it('T54 pruning many messages lets other work run', async () => {
    await sql`
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 5000)
      INSERT INTO inbound_guids (location_id, guid, state, owner, epoch, uncertain, created_at, updated_at)
      SELECT 'loc', 'old-' || n, 'sent', 'process-1', 1, 0, 1, 1 FROM numbers`.execute(database.db);
    expect(await turnsDuring(() => guids.prune(30 * DAY))).toBeGreaterThanOrEqual(10);
    expect(await guids.prune(30 * DAY)).toBe(0);
  });

  it('I6 calls reject with EngineError when the database is unavailable', async () => {
    await database.db.schema.alterTable('inbound_guids').renameTo('gone').execute();
    await expect(guids.claim(KEY, 'entry-1')).rejects.toThrow(EngineError);
    await expect(guids.sent(KEY, 'crm-1')).rejects.toThrow(EngineError);
    await database.db.schema.alterTable('gone').renameTo('inbound_guids').execute();
    expect(await guids.claim(KEY, 'entry-1')).toEqual(CLAIMED);
  });
});
