import { FakeClock } from '@footbridge/testkit/fake-clock';
import { beforeEach, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { CLAIM_MS, createAlertOutbox } from './alert-outbox-sql.ts';
import type { AlertOutbox, EnqueueOptions } from './alert-outbox-sql.ts';
import { MAX_TIMES_AN_HOUR } from './alerts.ts';

const HOUR = 3_600_000;
const SINGLE: EnqueueOptions = { reminderMs: null, group: (changes) => changes.map((change) => [change]) };
const TOGETHER: EnqueueOptions = { reminderMs: null, group: (changes) => [changes] };

onBothDatabases('the alert outbox', (open) => {
  let database: OpenDatabase;
  let clock: FakeClock;
  let outbox: AlertOutbox;
  beforeEach(async () => {
    database = await open();
    clock = new FakeClock();
    outbox = createAlertOutbox({ db: database.db, clock, otherNodes: true });
  });

  async function openIssue(id: string, license_id: string | null = null) {
    const at = clock.now();
    await database.db
      .insertInto('issues')
      .values({
        id,
        kind: 'mac_offline',
        subject: id,
        locations: JSON.stringify([id]),
        sentence: 'The Mac is not connected.',
        action: 'Switch it on.',
        since: at,
        opened_at: at,
        closed_at: null,
        seen_by: 'a',
        seen_at: at,
        license_id,
      })
      .execute();
  }
  async function openAgain(id: string) {
    await database.db
      .updateTable('issues')
      .set((is) => ({ closed_at: null, reopened: is('reopened', '+', 1) }))
      .where('id', '=', id)
      .execute();
  }
  async function closeIssue(id: string) {
    await database.db.updateTable('issues').set({ closed_at: clock.now() }).where('id', '=', id).execute();
  }
  async function removeIssue(id: string) {
    await database.db.deleteFrom('issues').where('id', '=', id).execute();
  }

  /** Sends everything that is due. Returns what was sent, one line per alert. */
  const drain = async (node = 'a') => {
    const sent: string[] = [];
    for (;;) {
      const claimed = await outbox.claim('webhook', node);
      if (claimed === undefined) return sent;
      await outbox.sent(claimed.alert.id);
      sent.push(claimed.alert.changes.map(({ change, issue }) => `${change} ${issue.id}`).join(', '));
    }
  };

  it('a change gets one alert per receiver, even when several nodes look at once', async () => {
    await openIssue('one');
    await openIssue('two');
    await Promise.all([1, 2, 3].map(() => outbox.enqueue('webhook', SINGLE)));
    await outbox.enqueue('slack', SINGLE);
    expect((await drain()).toSorted()).toEqual(['opened one', 'opened two']);
    await closeIssue('one');
    await Promise.all([1, 2, 3].map(() => outbox.enqueue('webhook', SINGLE)));
    expect(await drain()).toEqual(['closed one']);
    expect((await outbox.stateOf('slack')).pending).toBe(2);
  });

  it('without other nodes, an alert of a process that has ended is reclaimed at once', async () => {
    const alone = createAlertOutbox({ db: database.db, clock, otherNodes: false });
    await openIssue('one');
    await alone.enqueue('webhook', SINGLE);
    const first = await alone.claim('webhook', 'a');
    expect(await alone.claim('webhook', 'a')).toBeUndefined();
    expect((await alone.claim('webhook', 'b'))?.alert).toEqual(first?.alert);
  });

  it('the changes of one moment stay together and in order', async () => {
    await outbox.enqueue('webhook', TOGETHER);
    for (const id of ['one', 'two']) {
      await openIssue(id);
      await clock.advance(1000);
    }
    await closeIssue('one');
    await outbox.enqueue('webhook', TOGETHER);
    expect(await drain()).toEqual(['opened one, opened two, closed one']);
  });

  it('a new receiver is told about open issues only', async () => {
    await openIssue('old');
    await closeIssue('old');
    await openIssue('open');
    await clock.advance(1000);
    await outbox.enqueue('webhook', SINGLE);
    expect(await drain()).toEqual(['opened open']);
  });

  it('one alert is claimed at a time, and again when its node is gone', async () => {
    await openIssue('one');
    await clock.advance(1);
    await openIssue('two');
    await outbox.enqueue('webhook', SINGLE);
    const claims = await Promise.all(['a', 'b', 'c'].map((node) => outbox.claim('webhook', node)));
    const [first, ...others] = claims.filter((claim) => claim !== undefined);
    expect(others).toEqual([]);
    expect(first?.alert.changes[0]?.issue.id).toBe('one');
    await clock.advance(CLAIM_MS - 1);
    expect(await outbox.claim('webhook', 'b')).toBeUndefined();
    await clock.advance(1);
    expect((await outbox.claim('webhook', 'b'))?.alert).toEqual(first?.alert);
  });

  it('a failed alert is retried when it is due, before any later one', async () => {
    await openIssue('one');
    await outbox.enqueue('webhook', SINGLE);
    const first = await outbox.claim('webhook', 'a');
    await outbox.failed(first?.alert.id ?? '', 'it hangs', 5000);
    await openIssue('two');
    await outbox.enqueue('webhook', SINGLE);
    expect(await drain()).toEqual([]);
    expect(await outbox.stateOf('webhook')).toEqual({
      pending: 2,
      lastSentAt: null,
      lastError: 'it hangs',
    });
    await clock.advance(5000);
    const again = await outbox.claim('webhook', 'b');
    expect(again).toMatchObject({ alert: { id: first?.alert.id }, attempts: 1 });
    await outbox.giveUp(again?.alert.id ?? '', 'it hangs');
    expect(await drain()).toEqual(['opened two']);
    expect(await outbox.stateOf('webhook')).toEqual({
      pending: 0,
      lastSentAt: clock.now(),
      lastError: null,
    });
  });

  it('an open issue gets one reminder per period, and none for missed periods', async () => {
    const reminding = { ...SINGLE, reminderMs: HOUR };
    const look = async (wait: number) => {
      await clock.advance(wait);
      await outbox.enqueue('webhook', reminding);
      return await drain();
    };
    await openIssue('one');
    expect(await look(0)).toEqual(['opened one']);
    expect(await look(HOUR - 1)).toEqual([]);
    expect(await look(1)).toEqual(['reminder one']);
    expect(await look(HOUR - 1)).toEqual([]);
    expect(await look(3 * HOUR)).toEqual(['reminder one']);
    await closeIssue('one');
    expect(await look(HOUR)).toEqual(['closed one']);
    expect(await look(HOUR)).toEqual([]);
  });

  it('an issue that keeps reopening is reported once, and again when it has been closed for an hour', async () => {
    const told: string[] = [];
    const look = async () => {
      await Promise.all([1, 2].map(() => outbox.enqueue('webhook', SINGLE)));
      told.push(...(await drain()));
      await clock.advance(60_000);
    };
    await openIssue('one');
    await look();
    for (let count = 0; count < 2 * 60; count++) {
      await closeIssue('one');
      await look();
      await openAgain('one');
      await look();
    }
    expect(told).toEqual(['opened one', 'closed one', 'reminder one']);
    await closeIssue('one');
    await look();
    await clock.advance(HOUR - 60_001);
    await look();
    expect(told).toHaveLength(3);
    await look();
    expect(told.slice(3)).toEqual(['closed one']);
    await look();
    // An issue that opens at the last moment is told again.
    await openAgain('one');
    await look();
    expect(told.slice(4)).toEqual(['reminder one']);
  });

  it('alerts about one license are limited per hour, the remaining changes follow together, and other licenses do not wait', async () => {
    const [bounded, told]: [number[], string[]] = [[], []];
    const look = async () => {
      await outbox.enqueue('webhook', TOGETHER);
      for (;;) {
        const claimed = await outbox.claim('webhook', 'a');
        if (claimed === undefined) return;
        await outbox.sent(claimed.alert.id);
        const { changes } = claimed.alert;
        bounded.push(changes.filter(({ heldBack }) => heldBack).length);
        told.push(changes.map(({ change, issue }) => `${change} ${issue.id}`).join(', '));
      }
    };
    for (let count = 0; count < 1200; count++) {
      await openIssue(`noisy ${count}`, 'lic_noisy');
      if (count < 20) await look();
      await clock.advance(1000);
    }
    expect(told).toEqual(Array.from({ length: MAX_TIMES_AN_HOUR }, (_, count) => `opened noisy ${count}`));
    await openIssue('quiet', 'lic_quiet');
    await openIssue('all');
    await look();
    expect(told.at(-1)).toBe('opened all, opened quiet');
    await closeIssue('noisy 0');
    await look();
    expect(told).toHaveLength(MAX_TIMES_AN_HOUR + 1);
    expect(bounded.every((count) => count === 0)).toBe(true);
    await clock.advance(HOUR - 1_200_000);
    await look();
    expect(told.at(-1)?.split(', ')).toHaveLength(1000);
    expect(bounded.at(-1)).toBe(1000);
    await clock.advance(2000);
    await look();
    // 190 that opened, and the one that closed.
    expect(told.at(-1)?.split(', ')).toHaveLength(1200 - MAX_TIMES_AN_HOUR - 1000 + 1);
  });

  it('pruning deletes alerts that were sent, and none of them is sent again', async () => {
    await openIssue('gone');
    await openIssue('open');
    await outbox.enqueue('webhook', SINGLE);
    await drain();
    await closeIssue('gone');
    await removeIssue('gone');
    await clock.advance(1);
    await outbox.prune(clock.now());
    expect((await outbox.stateOf('webhook')).lastSentAt).toBeNull();
    await outbox.enqueue('webhook', SINGLE);
    expect(await drain()).toEqual([]);
  });

  it('a claim rejects with EngineError when the database is unavailable', async () => {
    await database.close();
    await expect(outbox.claim('webhook', 'a')).rejects.toBeInstanceOf(EngineError);
  });
});
