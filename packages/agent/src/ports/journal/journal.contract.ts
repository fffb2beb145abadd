import type { SendFrame } from '@footbridge/protocol/frames';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Journal, OutboxFrame } from './journal.ts';

export function sendFrame(over: Partial<SendFrame> = {}): SendFrame {
  return {
    type: 'send',
    requestId: 'request-1',
    messageId: 'message-1',
    contactId: 'contact-1',
    phone: '+15550100001',
    message: 'Hello',
    attachments: [],
    channel: 'imessage',
    ...over,
  };
}

const STATUS: OutboxFrame = {
  type: 'message_status',
  requestId: 'request-1',
  messageId: 'message-1',
  status: 'delivered',
};

/** What every journal owes, whatever holds it. `reopen` is a restart, where the engine can survive one. */
export function journalContract(open: () => Journal, reopen?: () => Journal): void {
  let journal: Journal;

  beforeEach(() => {
    journal = open();
  });

  afterEach(() => {
    journal.close();
  });

  describe('jobs', () => {
    it('are handed out in the order in which they came, each once it is at the front', () => {
      for (const id of ['a', 'b', 'c']) journal.jobs.enqueue(id, 'print', sendFrame({ messageId: id }), 1);
      expect(journal.jobs.next()).toMatchObject({ key: 'a', state: 'queued', frame: { message: 'Hello' } });
      journal.jobs.begin('a');
      expect(journal.jobs.next()?.key).toBe('b');
      expect(journal.jobs.pending()).toBe(3);
      journal.jobs.end('a', { state: 'delivered', guid: 'G' }, 2);
      expect(journal.jobs.pending()).toBe(2);
    });

    it('keep their place when they go back to the queue', () => {
      for (const id of ['a', 'b']) journal.jobs.enqueue(id, 'print', sendFrame({ messageId: id }), 1);
      journal.jobs.begin('a');
      expect(journal.jobs.interrupted().map((job) => job.key)).toEqual(['a']);
      journal.jobs.requeue('a');
      expect(journal.jobs.next()?.key).toBe('a');
      expect(journal.jobs.interrupted()).toEqual([]);
    });

    it('lose their text when they end, and keep how they ended', () => {
      journal.jobs.enqueue('a', 'print', sendFrame(), 1);
      journal.jobs.end('a', { state: 'failed', error: { code: 'TIMEOUT', message: 'late' } }, 2);
      expect(journal.jobs.find('a')).toMatchObject({
        state: 'failed',
        frame: undefined,
        fingerprint: 'print',
        error: { code: 'TIMEOUT', message: 'late' },
      });
    });

    it('answer every request that asked for them, once', () => {
      journal.jobs.enqueue('a', 'print', sendFrame(), 1);
      journal.jobs.attach('r1', 'a', 1);
      journal.jobs.attach('r2', 'a', 2);
      expect(journal.jobs.ofRequest('r2')?.key).toBe('a');
      expect(journal.jobs.takeUnanswered('a')).toEqual(['r1', 'r2']);
      expect(journal.jobs.takeUnanswered('a')).toEqual([]);
      journal.jobs.attach('r1', 'a', 3);
      expect(journal.jobs.takeUnanswered('a')).toEqual(['r1']);
    });

    it('remember their steps over a second attempt', () => {
      journal.jobs.enqueue('a', 'print', sendFrame(), 1);
      journal.jobs.beginStep('a', 'text', 41);
      expect(journal.jobs.openSteps('a')).toEqual([
        { name: 'text', done: false, guid: undefined, watermark: 41 },
      ]);
      journal.jobs.finishStep('a', 'text', 'G');
      journal.jobs.beginStep('a', 'file 0', 42);
      journal.jobs.dropStep('a', 'file 0');
      journal.jobs.end('a', { state: 'failed', error: { code: 'TIMEOUT', message: '' } }, 2);
      journal.jobs.enqueue('a', 'print', sendFrame(), 3);
      expect(journal.jobs.openSteps('a')).toEqual([]);
      expect(journal.jobs.step('a', 'text')).toMatchObject({ done: true, guid: 'G' });
      expect(journal.jobs.step('a', 'file 0')).toBeUndefined();
    });
  });

  describe('the outbox', () => {
    it('numbers frames upwards and never uses a number again', () => {
      const first = journal.outbox.put(STATUS, 1);
      const second = journal.outbox.put(STATUS, 1);
      expect(second).toBeGreaterThan(first);
      expect(journal.outbox.acknowledge(second)).toBe(true);
      expect(journal.outbox.put(STATUS, 1)).toBeGreaterThan(second);
    });

    it('gives what is not acknowledged, oldest first, ready for the wire', () => {
      const seqs = [1, 2, 3].map(() => journal.outbox.put(STATUS, 1));
      journal.outbox.acknowledge(seqs[1] ?? 0);
      const waiting = journal.outbox.unacknowledged(0, 10);
      expect(waiting.map((entry) => entry.seq)).toEqual([seqs[0], seqs[2]]);
      expect(JSON.parse(waiting[0]?.text ?? '')).toEqual({ ...STATUS, seq: seqs[0] });
      expect(journal.outbox.unacknowledged(seqs[0] ?? 0, 10)).toHaveLength(1);
      expect(journal.outbox.unacknowledged(0, 1)).toHaveLength(1);
    });

    it('keeps what was rejected and sends it again under a new number', () => {
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

    it('acknowledges only what is waiting', () => {
      expect(journal.outbox.acknowledge(7)).toBe(false);
      const seq = journal.outbox.put(STATUS, 1);
      expect(journal.outbox.redeliver(seq, 2)).toBeUndefined();
      expect(journal.outbox.setAside(seq, 'too large', 2)).toBe(true);
      expect(journal.outbox.acknowledge(seq)).toBe(false);
      expect(journal.outbox.reject(seq, 'no', 2)).toBe(false);
    });
  });

  describe('the inbox', () => {
    it('keeps a cursor per store and forgets it when the store is another one', () => {
      expect(journal.inbox.cursor('1:2')).toBeUndefined();
      journal.inbox.moveCursor('1:2', 77);
      expect(journal.inbox.cursor('1:2')).toBe(77);
      expect(journal.inbox.cursor('9:9')).toBeUndefined();
    });

    it('holds rows until they are released', () => {
      journal.inbox.hold({ rowid: 9, guid: 'B', heldSince: 5 });
      journal.inbox.hold({ rowid: 4, guid: 'A', heldSince: 5 });
      journal.inbox.hold({ rowid: 4, guid: 'A', heldSince: 6 });
      expect(journal.inbox.held()).toEqual([
        { rowid: 4, guid: 'A', heldSince: 5 },
        { rowid: 9, guid: 'B', heldSince: 5 },
      ]);
      journal.inbox.release(4);
      expect(journal.inbox.held()).toHaveLength(1);
    });

    it('knows a guid again', () => {
      expect(journal.inbox.knows('A')).toBe(false);
      expect(journal.inbox.remember('A', 1)).toBe(true);
      expect(journal.inbox.remember('A', 2)).toBe(false);
      expect(journal.inbox.knows('A')).toBe(true);
    });
  });

  it('makes several writes one: after a throw nothing of them happened', () => {
    expect(() =>
      journal.atomically(() => {
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

  it('M4 forgets after its time what has ended, and never what still waits', () => {
    journal.jobs.enqueue('old', 'print', sendFrame(), 1);
    journal.jobs.attach('r-old', 'old', 1);
    journal.jobs.beginStep('old', 'text', 1);
    journal.jobs.end('old', { state: 'delivered', guid: 'G' }, 100);
    journal.jobs.enqueue('waiting', 'print', sendFrame(), 1);
    journal.outbox.put(STATUS, 1);
    journal.outbox.reject(journal.outbox.put(STATUS, 1), 'no', 100);
    journal.inbox.remember('A', 100);
    journal.forget(100);
    expect(journal.jobs.find('old')).toBeDefined();
    expect(journal.outbox.counts().rejected).toBe(1);
    journal.forget(101);
    expect(journal.jobs.find('old')).toBeUndefined();
    expect(journal.jobs.ofRequest('r-old')).toBeUndefined();
    expect(journal.jobs.step('old', 'text')).toBeUndefined();
    expect(journal.jobs.find('waiting')).toBeDefined();
    expect(journal.outbox.counts()).toEqual({ unacknowledged: 1, rejected: 0, setAside: 0 });
    expect(journal.inbox.knows('A')).toBe(false);
  });

  if (reopen === undefined) return;
  it('is the same after a restart', () => {
    journal.jobs.enqueue('a', 'print', sendFrame(), 1);
    journal.jobs.begin('a');
    const seq = journal.outbox.put(STATUS, 1);
    journal.inbox.moveCursor('s', 5);
    journal.note('link', 'registered');
    journal.close();
    journal = reopen();
    expect(journal.jobs.interrupted().map((job) => job.key)).toEqual(['a']);
    expect(journal.outbox.unacknowledged(0, 10).map((entry) => entry.seq)).toEqual([seq]);
    expect(journal.inbox.cursor('s')).toBe(5);
    expect(journal.noted('link')).toBe('registered');
  });
}
