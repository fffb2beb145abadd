import { sendFrame } from '@footbridge/testkit/send-frame';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Journal, OutboxFrame } from './journal.ts';

const STATUS: OutboxFrame = {
  type: 'message_status',
  requestId: 'request-1',
  messageId: 'message-1',
  status: 'delivered',
};

const RECEIVED = {
  type: 'message_received',
  guid: 'GUID-1',
  sender: '+15550100001',
  service: 'iMessage',
  text: 'hello',
  sentAt: '2026-01-01T00:00:00.000Z',
  chat: { id: 1, isGroup: false, recipients: [] },
  attachments: [],
} as const;

/** The tests that every journal engine must pass. `reopen` simulates a restart, for engines that persist. */
export function journalContract(open: () => Journal, reopen?: () => Journal): void {
  let journal: Journal;

  beforeEach(() => {
    journal = open();
  });

  afterEach(() => {
    journal.close();
  });

  it('M9 keeps nothing for the service once it is emptied, and never repeats a seq', () => {
    journal.jobs.enqueue('a', 'print', sendFrame(), 1);
    journal.jobs.attachRequest('request-1', 'a', 1);
    journal.jobs.beginStep('a', 'text', 1);
    const last = journal.outbox.put(STATUS, 1);
    journal.outbox.reject(journal.outbox.put(STATUS, 1), 'no', 1);
    journal.inbox.moveCursor(1, 7);
    journal.inbox.addPending({ guid: 'G', since: 1 });
    journal.setNote('link', 'kept');
    journal.empty();
    expect(journal.jobs.pendingCount()).toBe(0);
    expect(journal.jobs.findByRequest('request-1')).toBeUndefined();
    expect(journal.jobs.findStep('a', 'text')).toBeUndefined();
    expect(journal.outbox.counts()).toEqual({ unacknowledged: 0, rejected: 0, setAside: 0 });
    expect(journal.inbox.pending()).toEqual([]);
    expect(journal.inbox.cursor(1)).toBeUndefined();
    expect(journal.note('link')).toBe('kept');
    expect(journal.outbox.put(STATUS, 2)).toBeGreaterThan(last + 1);
  });

  describe('jobs', () => {
    it('are returned first in, first out, and count as pending until they end', () => {
      for (const id of ['a', 'b', 'c']) journal.jobs.enqueue(id, 'print', sendFrame({ messageId: id }), 1);
      expect(journal.jobs.next()).toMatchObject({
        key: 'a',
        outcome: undefined,
        frame: { message: 'Hello' },
      });
      journal.jobs.begin('a');
      expect(journal.jobs.next()?.key).toBe('b');
      expect(journal.jobs.queued().map(({ key, changedAt }) => [key, changedAt])).toEqual([
        ['b', 1],
        ['c', 1],
      ]);
      expect(journal.jobs.pendingCount()).toBe(3);
      journal.jobs.end('a', { state: 'delivered', guid: 'G' }, 2);
      expect(journal.jobs.pendingCount()).toBe(2);
    });

    it('tell whether a step began, and forget one that was discarded', () => {
      journal.jobs.enqueue('a', 'print', sendFrame(), 1);
      expect(journal.jobs.hasSteps('a')).toBe(false);
      journal.jobs.beginStep('a', 'text', 1);
      expect([journal.jobs.hasSteps('a'), journal.jobs.hasSteps('b')]).toEqual([true, false]);
      journal.jobs.discardStep('a', 'text');
      expect(journal.jobs.hasSteps('a')).toBe(false);
    });

    it('tell which rows of the message store their steps caused, or may have caused', () => {
      const trace = { content: 'abc', at: 100 };
      const row = { guid: 'G2', content: 'abc', recentlyAt: 50, unfinishedAt: 50 };
      const sent = (change: Partial<typeof row> = {}) => journal.jobs.mayHaveSent({ ...row, ...change });
      expect(sent()).toBe(false);
      journal.jobs.enqueue('a', 'print', sendFrame(), 1);
      journal.jobs.beginStep('a', 'text', 1, trace);
      expect([sent(), sent({ recentlyAt: 200 }), sent({ content: 'other' })]).toEqual([true, true, false]);
      expect(sent({ recentlyAt: 200, unfinishedAt: 200 })).toBe(false);
      journal.jobs.finishStep('a', 'text', 'G1');
      expect([sent(), sent({ recentlyAt: 200 })]).toEqual([true, false]);
      expect(sent({ guid: 'G1', content: 'other', recentlyAt: 200 })).toBe(true);
    });

    it('tell when the oldest pending one was queued and when the newest delivered one ended', () => {
      expect([journal.jobs.oldestPendingAt(), journal.jobs.lastDeliveredAt()]).toEqual([
        undefined,
        undefined,
      ]);
      for (const [at, id] of ['a', 'b', 'c'].entries())
        journal.jobs.enqueue(id, 'print', sendFrame({ messageId: id }), at + 1);
      journal.jobs.begin('a');
      expect(journal.jobs.oldestPendingAt()).toBe(1);
      journal.jobs.end('a', { state: 'delivered', guid: 'G' }, 5);
      journal.jobs.end('b', { state: 'failed', code: 'TIMEOUT', message: '' }, 6);
      expect([journal.jobs.oldestPendingAt(), journal.jobs.lastDeliveredAt()]).toEqual([3, 5]);
      journal.jobs.end('c', { state: 'delivered', guid: 'G' }, 7);
      expect([journal.jobs.oldestPendingAt(), journal.jobs.lastDeliveredAt()]).toEqual([undefined, 7]);
    });

    it('keep their place when they are requeued', () => {
      for (const id of ['a', 'b']) journal.jobs.enqueue(id, 'print', sendFrame({ messageId: id }), 1);
      journal.jobs.begin('a');
      expect(journal.jobs.interrupted().map((job) => job.key)).toEqual(['a']);
      journal.jobs.requeue('a');
      expect(journal.jobs.next()?.key).toBe('a');
      expect(journal.jobs.interrupted()).toEqual([]);
    });

    it('M4 run first when one of their steps was interrupted', () => {
      for (const id of ['a', 'b', 'c']) journal.jobs.enqueue(id, 'print', sendFrame({ messageId: id }), 1);
      journal.jobs.beginStep('b', 'text', 1);
      journal.jobs.beginStep('c', 'text', 1);
      journal.jobs.finishStep('c', 'text', 'G');
      expect(journal.jobs.next()?.key).toBe('b');
      expect(journal.jobs.queued().map(({ key }) => key)).toEqual(['b', 'a', 'c']);
    });

    it('lose their text and keep their result when they end', () => {
      journal.jobs.enqueue('a', 'print', sendFrame(), 1);
      journal.jobs.end('a', { state: 'failed', code: 'TIMEOUT', message: 'late' }, 2);
      expect(journal.jobs.find('a')).toMatchObject({
        frame: undefined,
        fingerprint: 'print',
        outcome: { state: 'failed', code: 'TIMEOUT', message: 'late' },
      });
    });

    it('keep the file name of a step until they end', () => {
      journal.jobs.enqueue('a', 'print', sendFrame(), 1);
      journal.jobs.beginStep('a', 'file 0', 1, { content: 'files', fileName: 'a.png', at: 1 });
      expect(journal.jobs.findStep('a', 'file 0')).toMatchObject({ fileName: 'a.png' });
      journal.jobs.end('a', { state: 'unknown', code: 'TIMEOUT', message: '' }, 2);
      expect(journal.jobs.findStep('a', 'file 0')).toMatchObject({ done: false, fileName: undefined });
    });

    it('return every attached request once', () => {
      journal.jobs.enqueue('a', 'print', sendFrame(), 1);
      journal.jobs.attachRequest('r1', 'a', 1);
      journal.jobs.attachRequest('r2', 'a', 2);
      expect(journal.jobs.findByRequest('r2')?.key).toBe('a');
      expect(journal.jobs.takeUnanswered('a')).toEqual(['r1', 'r2']);
      expect(journal.jobs.takeUnanswered('a')).toEqual([]);
      journal.jobs.attachRequest('r1', 'a', 3);
      expect(journal.jobs.takeUnanswered('a')).toEqual(['r1']);
    });

    it('keep their finished steps when they are queued again', () => {
      journal.jobs.enqueue('a', 'print', sendFrame(), 1);
      journal.jobs.beginStep('a', 'text', 41);
      expect(journal.jobs.unfinishedSteps('a')).toEqual([
        { name: 'text', done: false, guid: undefined, watermark: 41 },
      ]);
      journal.jobs.finishStep('a', 'text', 'G');
      journal.jobs.beginStep('a', 'file 0', 42);
      journal.jobs.discardStep('a', 'file 0');
      journal.jobs.end('a', { state: 'failed', code: 'TIMEOUT', message: '' }, 2);
      journal.jobs.enqueue('a', 'print', sendFrame(), 3);
      expect(journal.jobs.unfinishedSteps('a')).toEqual([]);
      expect(journal.jobs.findStep('a', 'text')).toMatchObject({ done: true, guid: 'G' });
      expect(journal.jobs.findStep('a', 'file 0')).toBeUndefined();
    });
  });

  describe('the outbox', () => {
    it('assigns increasing numbers and never reuses one', () => {
      const first = journal.outbox.put(STATUS, 1);
      const second = journal.outbox.put(STATUS, 1);
      expect(second).toBeGreaterThan(first);
      expect(journal.outbox.acknowledge(second)).toBe(true);
      expect(journal.outbox.put(STATUS, 1)).toBeGreaterThan(second);
    });

    it('returns unacknowledged frames serialized, oldest first', () => {
      const seqs = [1, 2, 3].map(() => journal.outbox.put(STATUS, 1));
      journal.outbox.acknowledge(seqs[1] ?? 0);
      const waiting = journal.outbox.unacknowledged(0, 10);
      expect(waiting.map((entry) => entry.seq)).toEqual([seqs[0], seqs[2]]);
      expect(JSON.parse(waiting[0]?.text ?? '')).toEqual({ ...STATUS, seq: seqs[0] });
      expect(journal.outbox.unacknowledged(seqs[0] ?? 0, 10)).toHaveLength(1);
      expect(journal.outbox.unacknowledged(0, 1)).toHaveLength(1);
    });

    it('keeps a rejected frame and redelivers it under a new number', () => {
      const seq = journal.outbox.put(STATUS, 1);
      expect(journal.outbox.reject(seq, 'contact unknown', 2)).toBe(true);
      expect(journal.outbox.unacknowledged(0, 10)).toEqual([]);
      expect(journal.outbox.counts()).toEqual({ unacknowledged: 0, rejected: 1, setAside: 0 });
      const again = journal.outbox.redeliver(seq, 3);
      expect(again).toBeGreaterThan(seq);
      expect(journal.outbox.unacknowledged(0, 10).map((entry) => JSON.parse(entry.text))).toEqual([
        { ...STATUS, seq: again },
      ]);
      expect(journal.outbox.redeliver(seq, 4)).toBeUndefined();
    });

    it('I10 names the message of a received frame, but not of a set-aside frame', () => {
      journal.outbox.put(STATUS, 1);
      journal.outbox.put(RECEIVED, 1);
      journal.outbox.put({ ...RECEIVED, setAside: true }, 1);
      expect(journal.outbox.unacknowledged(0, 10).map(({ guid }) => guid)).toEqual([
        undefined,
        RECEIVED.guid,
        undefined,
      ]);
    });

    it('I10 takes a set-aside frame in one transaction, and no other frame', () => {
      const seq = journal.outbox.put({ ...RECEIVED, setAside: true }, 1);
      const other = journal.outbox.put(RECEIVED, 1);
      for (const one of [seq, other]) journal.outbox.reject(one, 'set aside', 2);
      const taken: string[] = [];
      expect(journal.outbox.takeSetAside(other, (guid) => taken.push(guid))).toBe(false);
      const fails = () => {
        throw new Error('the disk is full');
      };
      expect(() => journal.outbox.takeSetAside(seq, fails)).toThrow('full');
      expect(journal.outbox.takeSetAside(seq, (guid) => taken.push(guid))).toBe(true);
      expect(journal.outbox.takeSetAside(seq, fails)).toBe(false);
      expect(taken).toEqual([RECEIVED.guid]);
    });

    it('acknowledges only waiting frames', () => {
      expect(journal.outbox.acknowledge(7)).toBe(false);
      const seq = journal.outbox.put(STATUS, 1);
      expect(journal.outbox.redeliver(seq, 2)).toBeUndefined();
      expect(journal.outbox.setAside(seq, 'too large', 2)).toBe(true);
      expect(journal.outbox.acknowledge(seq)).toBe(false);
      expect(journal.outbox.reject(seq, 'no', 2)).toBe(false);
    });
  });

  it('I10 counts how often the agent ended with each message, until it is pruned', () => {
    expect([journal.deaths.add('inbound a', 1), journal.deaths.add('inbound a', 5)]).toEqual([1, 2]);
    journal.deaths.add('inbound b', 2);
    journal.deaths.add('outbound c', 9);
    journal.deaths.remove('outbound c');
    journal.prune(3);
    expect(journal.deaths.all()).toEqual([{ name: 'inbound a', deaths: 2 }]);
  });

  describe('the inbox', () => {
    it('remembers when reading began, until it is emptied', () => {
      expect(journal.inbox.began()).toBeUndefined();
      journal.inbox.begin({ at: 1_000, generation: 3 });
      expect(journal.inbox.began()).toEqual({ at: 1_000, generation: 3 });
      journal.empty();
      expect(journal.inbox.began()).toBeUndefined();
    });

    it('returns a cursor only for the generation of the store it was saved for', () => {
      expect(journal.inbox.cursor(1)).toBeUndefined();
      journal.inbox.moveCursor(1, 77);
      expect(journal.inbox.cursor(1)).toBe(77);
      expect(journal.inbox.cursor(2)).toBeUndefined();
      journal.inbox.moveCursor(2, 5);
      expect(journal.inbox.cursor(2)).toBe(5);
      expect(journal.inbox.cursor(1)).toBeUndefined();
    });

    it('keeps pending rows in order until they are removed', () => {
      journal.inbox.addPending({ guid: 'B', since: 5 });
      journal.inbox.addPending({ guid: 'A', since: 5 });
      journal.inbox.addPending({ guid: 'B', since: 6 });
      expect(journal.inbox.pending()).toEqual([
        { guid: 'B', since: 5 },
        { guid: 'A', since: 5 },
      ]);
      journal.inbox.removePending('B');
      expect(journal.inbox.pending()).toEqual([{ guid: 'A', since: 5 }]);
    });

    it('tells when the newest guid was marked as seen', () => {
      expect(journal.inbox.lastSeenAt()).toBeUndefined();
      journal.inbox.markSeen('A', 2);
      journal.inbox.markSeen('B', 1);
      expect(journal.inbox.lastSeenAt()).toBe(2);
      expect(journal.inbox.markSeen('typed by the owner', 3, true)).toBe(true);
      expect(journal.inbox.lastSeenAt()).toBe(2);
    });

    it('recognises a guid that was marked as seen', () => {
      expect(journal.inbox.hasSeen('A')).toBe(false);
      expect(journal.inbox.markSeen('A', 1)).toBe(true);
      expect(journal.inbox.markSeen('A', 2)).toBe(false);
      expect(journal.inbox.hasSeen('A')).toBe(true);
      journal.inbox.unmarkSeen('A');
      expect(journal.inbox.markSeen('A', 3)).toBe(true);
    });
  });

  it('rolls back every write of a transaction that throws', () => {
    expect(() =>
      journal.transaction(() => {
        journal.jobs.enqueue('a', 'print', sendFrame(), 1);
        journal.outbox.put(STATUS, 1);
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(journal.jobs.find('a')).toBeUndefined();
    expect(journal.outbox.counts().unacknowledged).toBe(0);
    journal.outbox.put(STATUS, 1);
    expect(journal.outbox.counts().unacknowledged).toBe(1);
  });

  it('M4 prunes ended jobs and rejected frames by age, and never pending ones', () => {
    journal.jobs.enqueue('old', 'print', sendFrame(), 1);
    journal.jobs.attachRequest('r-old', 'old', 1);
    journal.jobs.beginStep('old', 'text', 1);
    journal.jobs.end('old', { state: 'delivered', guid: 'G' }, 100);
    journal.jobs.enqueue('waiting', 'print', sendFrame(), 1);
    journal.outbox.put(STATUS, 1);
    journal.outbox.reject(journal.outbox.put(STATUS, 1), 'no', 100);
    journal.inbox.markSeen('A', 100);
    journal.prune(100);
    expect(journal.jobs.find('old')).toBeDefined();
    expect(journal.outbox.counts().rejected).toBe(1);
    journal.prune(101);
    expect(journal.jobs.find('old')).toBeUndefined();
    expect(journal.jobs.findByRequest('r-old')).toBeUndefined();
    expect(journal.jobs.findStep('old', 'text')).toBeUndefined();
    expect(journal.jobs.find('waiting')).toBeDefined();
    expect(journal.outbox.counts()).toEqual({ unacknowledged: 1, rejected: 0, setAside: 0 });
    expect(journal.inbox.hasSeen('A')).toBe(false);
  });

  if (reopen === undefined) return;
  it('keeps its content over a restart', () => {
    journal.jobs.enqueue('a', 'print', sendFrame(), 1);
    journal.jobs.begin('a');
    const seq = journal.outbox.put(STATUS, 1);
    journal.inbox.moveCursor(3, 5);
    journal.setNote('link', 'registered');
    journal.close();
    journal = reopen();
    expect(journal.jobs.interrupted().map((job) => job.key)).toEqual(['a']);
    expect(journal.outbox.unacknowledged(0, 10).map((entry) => entry.seq)).toEqual([seq]);
    expect(journal.inbox.cursor(3)).toBe(5);
    expect(journal.note('link')).toBe('registered');
  });
}
