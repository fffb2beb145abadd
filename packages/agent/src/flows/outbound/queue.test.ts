import type { SendFrame } from '@footbridge/protocol/frames';
import { parseMacFrame } from '@footbridge/protocol/frames';
import { systemClock } from '@footbridge/runtime/clock';
import { noFailpoints } from '@footbridge/runtime/failpoints';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { openJournal } from '../../journal/journal-sqlite.ts';
import type { Journal } from '../../journal/journal.ts';
import type { MessageStore, StoreState } from '../../ports/messages/messages.ts';
import { NO_SUSPECTS } from '../../suspects/no-suspects.fixture.ts';
import { Queue } from './queue.ts';
import { stepsOf } from './steps.ts';
import type { Outcome } from '../../outcome.ts';

const LIMIT = 4;
const DEPS = {
  clock: systemClock,
  log: silentLog,
  failpoint: noFailpoints,
  suspects: NO_SUSPECTS,
  limit: LIMIT,
  limitWaitMs: 0,
  storeState: () => 'readable' as const,
  pause: () => Promise.resolve(),
  onFrames: () => {},
};

/** The result of the next send. `dies-…`: the process is killed before or after Messages sent. */
type NextSend = 'sends' | 'fails' | 'unknown' | 'dies-before' | 'dies-after';

/** A real queue on a real journal, with a Messages that only counts. A killed process is a job that never ends. */
class QueueModel {
  readonly sent: string[] = [];
  readonly journal: Journal = openJournal(':memory:');
  #nextSend: NextSend = 'sends';
  #queue: Queue;
  #hold: Promise<void> = Promise.resolve();
  #release: () => void = () => {};
  #requests = 0;

  constructor() {
    this.#queue = this.#start();
  }

  accept(messageId: string | null, message: string): void {
    this.#requests += 1;
    this.#queue.accept(sendFrame({ messageId, message, requestId: `r${this.#requests}` }));
  }

  get requests(): number {
    return this.#requests;
  }

  /** Runs the pending jobs. `nextSend` applies to the first of them. */
  async work(nextSend: NextSend): Promise<void> {
    this.#nextSend = nextSend;
    this.#release();
    await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 50 && this.journal.jobs.next() !== undefined; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    await new Promise((resolve) => setImmediate(resolve));
    this.freeze();
  }

  freeze(): void {
    this.#hold = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  /** Starts a new queue on the journal of the old one. */
  restart(): void {
    this.#queue = this.#start();
  }

  close(): void {
    void this.#queue.stop();
    this.#release();
    this.journal.close();
  }

  statuses(): Map<string, string[]> {
    const byRequest = new Map<string, string[]>();
    for (const { text } of this.journal.outbox.unacknowledged(0, 100_000)) {
      const parsed = parseMacFrame(text);
      if (parsed.kind !== 'frame' || parsed.frame.type !== 'message_status') continue;
      const { requestId, status, error } = parsed.frame;
      byRequest.set(requestId, [...(byRequest.get(requestId) ?? []), error?.code ?? status]);
    }
    return byRequest;
  }

  #start(): Queue {
    this.freeze();
    const queue = new Queue({
      ...DEPS,
      journal: this.journal,
      perform: (job, frame) => this.#perform(job.key, frame),
    });
    queue.start();
    return queue;
  }

  async #perform(key: string, frame: SendFrame): Promise<Outcome> {
    await this.#hold;
    const store = { position: () => 0 } as MessageStore;
    const steps = stepsOf(key, {
      jobs: this.journal.jobs,
      store,
      clock: systemClock,
      log: silentLog,
      failpoint: noFailpoints,
      timeoutMs: 1000,
      workOn: () => {},
    });
    const nextSend = this.#nextSend;
    this.#nextSend = 'sends';
    if (nextSend === 'dies-before' || nextSend === 'dies-after') {
      this.journal.jobs.beginStep(key, 'text', 0);
      if (nextSend === 'dies-after') this.sent.push(frame.message ?? '');
      // Never resolves: this process was killed.
      await new Promise<never>(() => {});
    }
    return await steps.once('text', async () => {
      if (nextSend === 'fails') return { state: 'failed', code: 'TIMEOUT', message: 'no' };
      this.sent.push(frame.message ?? '');
      if (nextSend === 'unknown') return { state: 'unknown', code: 'TIMEOUT', message: 'outcome unknown' };
      return { state: 'delivered', guid: `G${this.sent.length}` };
    });
  }
}

const step = fc.oneof(
  fc.record({ do: fc.constant('accept' as const), id: fc.integer({ min: 0, max: 5 }) }),
  fc.record({ do: fc.constant('accept-anonymous' as const) }),
  fc.record({ do: fc.constant('accept-other-text' as const), id: fc.integer({ min: 0, max: 5 }) }),
  fc.record({
    do: fc.constant('work' as const),
    nextSend: fc.constantFrom<NextSend>('sends', 'fails', 'unknown', 'dies-before', 'dies-after'),
  }),
  fc.record({ do: fc.constant('restart' as const) }),
);

describe('the queue', () => {
  it('M4 sends a messageId at most once and answers every request, in any order of requests, failures and crashes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const model = new QueueModel();
        let anonymous = 0;
        try {
          for (const next of steps) {
            if (next.do === 'accept') model.accept(`m${next.id}`, `text of m${next.id}`);
            if (next.do === 'accept-other-text') model.accept(`m${next.id}`, 'something else');
            if (next.do === 'accept-anonymous') model.accept(null, `anonymous ${(anonymous += 1)}`);
            if (next.do === 'work') {
              await model.work(next.nextSend);
              if (next.nextSend.startsWith('dies')) model.restart();
            }
            if (next.do === 'restart') model.restart();
            expect(model.journal.jobs.pendingCount()).toBeLessThanOrEqual(LIMIT);
          }
          model.restart();
          for (let turn = 0; turn < 10 && model.journal.jobs.pendingCount() > 0; turn += 1)
            await model.work('sends');

          const known = model.sent.filter(
            (text) => text.startsWith('text of') || text.startsWith('anonymous'),
          );
          expect(new Set(known).size, 'nothing was sent twice').toBe(known.length);
          const statuses = model.statuses();
          for (let request = 1; request <= model.requests; request += 1) {
            expect(statuses.get(`r${request}`)?.length, `r${request} was answered once`).toBe(1);
          }
          expect(model.journal.jobs.pendingCount()).toBe(0);
        } finally {
          model.close();
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('a journal that is not writable', () => {
  it.each(['begin', 'end'] as const)(
    'M4 at the %s of a job pauses the queue, and nothing is sent twice',
    async (when) => {
      const journal = openJournal(':memory:');
      let full = true;
      let attempts = 0;
      const fails =
        <A extends unknown[], R>(write: (...args: A) => R) =>
        (...args: A): R => {
          attempts += 1;
          if (full) throw new Error('database or disk is full');
          return write(...args);
        };
      const jobs = { ...journal.jobs, [when]: fails<never[], void>(journal.jobs[when]) };
      const sent: string[] = [];
      const queue = new Queue({
        ...DEPS,
        journal: { ...journal, jobs },
        clock: { ...systemClock, sleep: () => new Promise((resolve) => setImmediate(resolve)) },
        perform: async (job) => {
          journal.jobs.beginStep(job.key, 'text', 0);
          sent.push(job.key);
          return { state: 'delivered', guid: undefined };
        },
      });
      queue.start();
      queue.accept(sendFrame({ messageId: 'one', requestId: 'r1' }));
      await until(() => attempts >= 3, { what: 'three attempts to write' });
      full = false;
      queue.accept(sendFrame({ messageId: 'two', requestId: 'r2' }));
      await until(() => queue.depth() === 0, { what: 'an empty queue' });
      expect(sent).toEqual(['message one', 'message two']);
      const ends = ['message one', 'message two'].map((key) => journal.jobs.find(key)?.outcome?.state);
      expect(ends).toEqual([when === 'begin' ? 'delivered' : 'unknown', 'delivered']);
      await queue.stop();
      journal.close();
    },
  );
});

describe('an interrupted job', () => {
  it.each([
    ['press', 'failed', 'TARGET_NOT_FOUND'],
    ['text', 'unknown', 'INTERNAL_ERROR'],
  ])(
    'M4 that fails after its step %s was interrupted ends as %s with the code %s',
    async (name, state, code) => {
      const journal = openJournal(':memory:');
      const queue = new Queue({
        ...DEPS,
        journal,
        perform: () => Promise.resolve({ state: 'failed', code: 'TARGET_NOT_FOUND', message: 'no target' }),
      });
      queue.accept(sendFrame({ messageId: 'one' }));
      journal.jobs.begin('message one');
      journal.jobs.beginStep('message one', name, 0);
      queue.start();
      await until(() => queue.depth() === 0, { what: 'an empty queue' });
      expect(journal.jobs.find('message one')).toMatchObject({ outcome: { state, code } });
      await queue.stop();
      journal.close();
    },
  );
});

describe('an interrupted job while the message store is locked', () => {
  const MINUTE_MS = 60_000;

  /** Starts a queue with a job whose step was interrupted or recorded, or that had not begun. */
  function startQueue(begun: 'interrupted' | 'recorded' | 'none', state: StoreState | Error = 'locked') {
    const clock = new FakeClock();
    const journal = openJournal(':memory:');
    const performed: string[] = [];
    const store: { state: StoreState | Error } = { state };
    const queue = new Queue({
      ...DEPS,
      clock,
      journal,
      storeState: () => {
        if (store.state instanceof Error) throw store.state;
        return store.state;
      },
      perform: ({ key }) => {
        performed.push(key);
        return Promise.resolve({ state: 'delivered', guid: undefined });
      },
    });
    queue.accept(sendFrame({ messageId: 'one', requestId: 'r1' }));
    journal.jobs.begin('message one');
    if (begun !== 'none') journal.jobs.beginStep('message one', 'text', 0);
    if (begun === 'recorded') journal.jobs.finishStep('message one', 'text', 'GUID');
    queue.start();
    return { clock, journal, performed, store, queue };
  }

  it('M4 is looked up before any other send when the store is readable, however long that takes', async () => {
    const { clock, journal, performed, store, queue } = startQueue('interrupted');
    queue.accept(sendFrame({ messageId: 'two', requestId: 'r2' }));
    await clock.advance(10 * MINUTE_MS);
    expect(performed).toEqual([]);
    store.state = 'readable';
    await clock.advance(MINUTE_MS);
    expect(performed).toEqual(['message one', 'message two']);
    await queue.stop();
    journal.close();
  });

  it.each<[string, StoreState | Error]>([
    ['absent', 'absent'],
    ['denied', 'denied'],
    ['failing', new Error('no such table: chat')],
  ])('M4 is looked up after at most a minute while the store is %s', async (_how, state) => {
    const { clock, journal, performed, store, queue } = startQueue('interrupted', state);
    queue.accept(sendFrame({ messageId: 'two', requestId: 'r2' }));
    await clock.advance(3000);
    expect(performed).toEqual([]);
    store.state = state instanceof Error ? state : 'readable';
    await clock.advance(state instanceof Error ? MINUTE_MS : 500);
    expect(performed).toEqual(['message one', 'message two']);
    await queue.stop();
    journal.close();
  });

  it('M4 does not delay the end of the agent, and is queued again', async () => {
    const { clock, journal, performed, queue } = startQueue('interrupted');
    await clock.advance(MINUTE_MS);
    await queue.stop();
    expect(performed).toEqual([]);
    expect(journal.jobs.queued().map(({ key }) => key)).toEqual(['message one']);
    journal.close();
  });

  it.each(['recorded', 'none'] as const)(
    'M4 does not wait when it has no unfinished step (%s)',
    async (begun) => {
      const { clock, journal, performed, queue } = startQueue(begun);
      await clock.advance(0);
      expect(performed).toEqual(['message one']);
      await queue.stop();
      journal.close();
    },
  );
});
