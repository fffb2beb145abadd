import { FakeClock } from '@footbridge/testkit/fake-clock';
import { turnsDuring } from '@footbridge/testkit/turns-during';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { createSqlGuids } from './guids-sql.ts';
import type { Guids } from './guids.ts';

const DAY = 86_400_000;
const KEY = { locationId: 'loc', guid: 'guid-1' };
const START = new FakeClock().now();
const ENTRY = { entryId: 'entry-1' };
const CLAIMED = { kind: 'claimed', uncertain: false, isRedelivery: false, claimedAt: START, ...ENTRY };

export function guidsContract(name: string, open: () => Promise<OpenDatabase>): void {
  describe(`guids: ${name}`, () => {
    let database: OpenDatabase;
    let clock: FakeClock;
    let guids: Guids;
    let other: Guids;

    beforeEach(async () => {
      database = await open();
      clock = new FakeClock();
      guids = createSqlGuids({ database, clock, owner: 'process-1' });
      other = createSqlGuids({ database, clock, owner: 'process-2' });
    });
    afterEach(() => database.close());

    it('I6 lets one process claim a message, and returns its state to the next', async () => {
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

    it('I6 claims each pair of location and guid separately', async () => {
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

    it('I6 lets a process repeat its own claim, and returns the entry id of the first', async () => {
      await guids.claim(KEY, 'entry-1');
      expect(await guids.claim(KEY, 'entry-1')).toEqual(CLAIMED);
      expect(await guids.claim(KEY, 'entry-2')).toEqual({ ...CLAIMED, uncertain: true });
    });

    it('I9 flags only the repeated one of two claims in the same transaction as uncertain', async () => {
      await guids.claim(KEY, 'entry-1');
      const claims = [guids.claim(KEY, 'entry-2'), guids.claim({ ...KEY, guid: 'new' }, 'entry-3')];
      expect(await Promise.all(claims)).toEqual([
        { ...CLAIMED, uncertain: true },
        { ...CLAIMED, entryId: 'entry-3' },
      ]);
    });

    it('I6 hands over the claim of an ended process once, flagged as uncertain', async () => {
      await guids.claim(KEY, 'entry-1');
      const third = createSqlGuids({ database, clock, owner: 'process-3' });
      const taken = await Promise.all([other.takeOver(KEY, 'process-1'), third.takeOver(KEY, 'process-1')]);
      expect(taken.filter(Boolean)).toHaveLength(1);
      const winner = taken[0] ? other : third;
      expect(await winner.claim(KEY, 'entry-2')).toEqual({ ...CLAIMED, uncertain: true });
    });

    it('I9 returns the time of the first claim with an uncertain one', async () => {
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

    it('I6 does not hand over a claim that its owner finished', async () => {
      await guids.claim(KEY, 'entry-1');
      await guids.sent(KEY, 'crm-1');
      expect(await other.takeOver(KEY, 'process-1')).toBe(false);
    });

    it('I6 lets any process claim a rejected message again', async () => {
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

    it('I9 remembers that a rejected message may have reached the CRM', async () => {
      await guids.claim(KEY, 'entry-1');
      await guids.rejected(KEY, true);
      await clock.advance(5000);
      expect(await other.claim(KEY, 'entry-2')).toEqual({ ...CLAIMED, uncertain: true, isRedelivery: true });
    });

    it('I9 lets any process claim a released message at once', async () => {
      await guids.claim(KEY, 'entry-1');
      await guids.released(KEY, false);
      await clock.advance(5000);
      expect(await other.claim(KEY, 'entry-2')).toEqual({ ...CLAIMED, claimedAt: START + 5000 });
    });

    it('I9 does not release a claim that another process took over', async () => {
      await guids.claim(KEY, 'entry-1');
      await other.takeOver(KEY, 'process-1');
      await guids.released(KEY, false);
      expect(await guids.claim(KEY, 'entry-1')).toMatchObject({ kind: 'held', owner: 'process-2' });
      await other.sent(KEY, 'crm-1');
      await other.rejected(KEY, false);
      expect(await guids.claim(KEY, 'entry-1')).toEqual({ kind: 'sent', ...ENTRY });
    });

    it("I9 finds the CRM's ids that are recorded for other messages of the location", async () => {
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

    it('I6 resolves 150 simultaneous calls individually', async () => {
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

    it('I6 lets exactly one process claim a message under simultaneous claims', async () => {
      const claims = await Promise.all(
        Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? guids : other).claim(KEY, 'entry-1')),
      );
      const kinds = new Set(claims.filter((_, index) => index % 2 === 0).map(({ kind }) => kind));
      const others = new Set(claims.filter((_, index) => index % 2 === 1).map(({ kind }) => kind));
      // A process can repeat its own claim; the other process gets none.
      expect([...kinds, ...others].toSorted()).toEqual(['claimed', 'held']);
    });

    it('I6 prunes old messages', async () => {
      await guids.claim(KEY, 'entry-1');
      await guids.sent(KEY, 'crm-1');
      await clock.advance(31 * DAY);
      await guids.claim({ ...KEY, guid: 'recent' }, 'entry-1');
      expect(await guids.prune(30 * DAY)).toBe(1);
      expect(await guids.claim(KEY, 'entry-1')).toEqual({ ...CLAIMED, claimedAt: START + 31 * DAY });
      expect(await other.claim({ ...KEY, guid: 'recent' }, 'entry-1')).toMatchObject({ kind: 'held' });
    });

    it('T54 lets other work run while it prunes many messages', async () => {
      await sql`
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 5000)
        INSERT INTO inbound_guids (location_id, guid, state, owner, epoch, uncertain, created_at, updated_at)
        SELECT 'loc', 'old-' || n, 'sent', 'process-1', 1, 0, 1, 1 FROM numbers`.execute(database.db);
      expect(await turnsDuring(() => guids.prune(30 * DAY))).toBeGreaterThanOrEqual(10);
      expect(await guids.prune(30 * DAY)).toBe(0);
    });

    it('I6 rejects with EngineError when the database is unavailable', async () => {
      await database.db.schema.alterTable('inbound_guids').renameTo('gone').execute();
      await expect(guids.claim(KEY, 'entry-1')).rejects.toThrow(EngineError);
      await expect(guids.sent(KEY, 'crm-1')).rejects.toThrow(EngineError);
      await database.db.schema.alterTable('gone').renameTo('inbound_guids').execute();
      expect(await guids.claim(KEY, 'entry-1')).toEqual(CLAIMED);
    });
  });
}
