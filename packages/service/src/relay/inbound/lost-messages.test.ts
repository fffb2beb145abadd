import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';

import { CANCELLED, failed, succeeded } from '../../platform/retry/retry.ts';
import type { Attempt, FailedAttempt } from '../../platform/retry/retry.ts';
import { Guids } from './guids-sql.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import type { ConversationCalls, MessagePage, StoredMessage } from './conversation-calls.ts';
import type { InboundMessage } from './inbound-calls.ts';
import { createInbound } from './deliver-inbound.ts';
import type { Inbound, InboundDeps } from './deliver-inbound.ts';
import { NO_SUSPECTS } from './deliver-inbound.fixture.ts';

const LOCATION = asLocationId('loc1') as LocationId;
const LEASE = { locationId: LOCATION, deviceId: 'd', sessionId: 's', epoch: 1 };
const SETTLE_MS = 20_000;
const LAG_MS = 10_000;
/** Less than the service waits: its delays have fractions of a millisecond, and their sum may be rounded down. */
const CRM_LAG_MS = LAG_MS - 1;
const LOST = failed('timeout', { inDoubt: true });
const never = new Promise<never>(() => {});

/** What happens to a POST. `late`: it is stored after the response was lost. */
type Fate =
  | 'answered'
  | 'stored, no id'
  | 'stored, response lost'
  | 'stored, 503'
  | 'lost before it was stored'
  | 'late'
  | 'refused for now';

const open: OpenDatabase[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((database) => database.close()));
});

const frame = (guid: string, chat: number, text: string, isGroup = false): MessageReceivedFrame => ({
  type: 'message_received',
  seq: 1,
  guid,
  sender: '+14155550100',
  service: 'iMessage',
  text,
  sentAt: '2026-01-01T00:00:00Z',
  chat: { id: chat, isGroup, recipients: [] },
  attachments: [],
});

/** A CRM with one conversation, whose reads lag, and a service that can be killed. */
async function setUp(fates: Fate[] = [], more: Partial<InboundDeps> = {}) {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  open.push(database);
  const clock = new FakeClock();
  /** Dated by the monotonic clock, as a CRM whose clock is never set. */
  const stored: StoredMessage[] = [];
  const byOurClock = (message: StoredMessage): StoredMessage => ({
    ...message,
    addedAt: clock.now() - clock.monotonic() + message.addedAt,
  });
  const reads: string[] = [];
  const unreadable: { failure: FailedAttempt | undefined } = { failure: undefined };
  const store = ({ message: text, attachments }: InboundMessage) => {
    const id = `crm-${stored.length + 1}`;
    stored.push({ id, isInbound: true, text, attachments, addedAt: clock.monotonic() });
    return id;
  };
  const post = async (message: InboundMessage): Promise<Attempt<string>> => {
    const fate = fates.shift() ?? 'answered';
    if (fate === 'refused for now') return failed('http', { status: 429 });
    if (fate === 'lost before it was stored') return LOST;
    if (fate === 'late') clock.after(SETTLE_MS, () => void store(message));
    const id = fate === 'late' ? '' : store(message);
    if (fate === 'stored, no id') return failed('empty', { status: 201, inDoubt: true });
    if (fate === 'stored, 503') return failed('http', { status: 503, inDoubt: true });
    return fate === 'answered' ? succeeded(id) : LOST;
  };
  const visible = () =>
    stored.filter(({ addedAt }) => addedAt <= clock.monotonic() - CRM_LAG_MS).toReversed();
  const conversations: ConversationCalls = {
    find: async (_location, contactId) => {
      reads.push(contactId);
      return unreadable.failure ?? succeeded(visible().length > 0 ? ['v1'] : []);
    },
    messages: async (_location, conversationId, before) => {
      reads.push(before === undefined ? conversationId : `${conversationId} before ${before}`);
      const all = visible();
      const from = all.findIndex(({ id }) => id === before) + 1;
      const page: MessagePage = {
        messages: all.slice(from, from + 20).map(byOurClock),
        hasMore: from + 20 < all.length,
      };
      return unreadable.failure ?? succeeded(page);
    },
  };
  const counts: string[] = [];
  let processes = 0;
  let kill = async () => {};

  /** Kills the service, if one is running, and starts another. Writes that the store accepted before the kill are durable. */
  async function start(): Promise<Inbound> {
    await kill();
    const alive = { yes: true };
    const whileAlive =
      <Given extends unknown[], T>(call: (...given: Given) => Promise<T>) =>
      async (...given: Given): Promise<T> => {
        if (!alive.yes) return never;
        const result = await call(...given);
        return alive.yes ? result : never;
      };
    const guids = new Guids({ database, clock, owner: `process-${++processes}` });
    kill = () => {
      alive.yes = false;
      return guids.close();
    };
    const found = async () => succeeded('contact-1');
    return createInbound({
      guids: {
        claim: whileAlive((...given) => guids.claim(...given)),
        takeOver: whileAlive((...given) => guids.takeOver(...given)),
        sent: whileAlive((...given) => guids.sent(...given)),
        rejected: whileAlive((...given) => guids.rejected(...given)),
        released: whileAlive((...given) => guids.released(...given)),
        recordedForOthers: whileAlive((...given) => guids.recordedForOthers(...given)),
      },
      suspects: NO_SUSPECTS,
      calls: {
        post: whileAlive(async (message, guard) => ((await guard.fence?.()) ? post(message) : CANCELLED)),
      },
      contacts: {
        find: whileAlive(found),
        findAll: whileAlive(async () => succeeded(['contact-1'])),
        upsert: found,
        create: found,
      },
      conversations: {
        find: whileAlive((...given) => conversations.find(...given)),
        messages: whileAlive((...given) => conversations.messages(...given)),
      },
      journal: { open: () => {}, step: () => {}, codeOf: async () => undefined, requestsOf: async () => [] },
      isCurrent: () => true,
      settings: {
        createContacts: true,
        footerOnPlainText: false,
        onUncertain: 'retry',
        mirrorSent: false,
        settleMs: SETTLE_MS,
        readLagMs: LAG_MS,
      },
      clock,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      failpoint: undefined,
      otherNodes: false,
      phones: { recorded: (sender) => sender },
      countLookUp: (result) => void counts.push(result),
      ...more,
    });
  }

  async function settled<T>(promise: Promise<T>, stepMs = 1000): Promise<T> {
    let isSettled = false;
    void promise.finally(() => (isSettled = true));
    await until(async () => (await clock.advance(stepMs), isSettled), { every: 5 });
    return promise;
  }
  return { start, stored, byOurClock, reads, counts, clock, settled, unreadable, store };
}

const texts = (stored: readonly StoredMessage[]) => stored.map(({ text }) => text).toSorted();

describe('I9 after a lost response', () => {
  it('the conversation is read once the request cannot be in flight, and a message found there is not posted again', async () => {
    const { start, stored, reads, counts, clock, settled } = await setUp(['stored, response lost']);
    const ack = (await start()).deliver(LEASE, frame('g1', 1, 'hello'));
    await until(() => stored.length === 1);
    await clock.advance(SETTLE_MS - 1);
    expect(reads).toEqual([]);
    expect(await settled(ack)).toEqual({ outcome: 'delivered' });
    expect(reads).toEqual(['contact-1', 'v1']);
    expect(counts).toEqual(['found']);
    expect(stored).toHaveLength(1);
  });

  it('a message that two reads do not show is posted again', async () => {
    const { start, stored, reads, counts, settled } = await setUp(['lost before it was stored']);
    expect(await settled((await start()).deliver(LEASE, frame('g1', 1, 'hello')))).toEqual({
      outcome: 'delivered',
    });
    expect(reads).toEqual(['contact-1', 'contact-1']);
    expect(counts).toEqual(['absent']);
    expect(texts(stored)).toEqual(['hello']);
  });

  it('a message that is stored late is found by the second read', async () => {
    const { start, stored, counts, settled } = await setUp(['late']);
    expect(await settled((await start()).deliver(LEASE, frame('g1', 1, 'hello')))).toEqual({
      outcome: 'delivered',
    });
    expect(counts).toEqual(['found']);
    expect(texts(stored)).toEqual(['hello']);
  });

  it('a message whose response named no id is found and not posted again', async () => {
    const { start, stored, counts, settled } = await setUp(['stored, no id']);
    expect(await settled((await start()).deliver(LEASE, frame('g1', 1, 'hello')))).toEqual({
      outcome: 'delivered',
    });
    expect(counts).toEqual(['found']);
    expect(texts(stored)).toEqual(['hello']);
  });

  it('a message is found when our clock is set meanwhile, by minutes', async () => {
    for (const stepMs of [-180_000, -90_000, 90_000, 180_000])
      for (const isKilled of [false, true]) {
        const { start, stored, counts, clock, settled } = await setUp(['stored, response lost']);
        let inbound = await start();
        let ack = inbound.deliver(LEASE, frame('g1', 1, 'hello'));
        await until(() => stored.length === 1);
        if (isKilled) inbound = await start();
        clock.advanceWallClock(stepMs);
        if (isKilled) ack = inbound.deliver(LEASE, frame('g1', 1, 'hello'));
        expect(await settled(ack)).toEqual({ outcome: 'delivered' });
        expect([stepMs, counts]).toEqual([stepMs, ['found']]);
        expect(texts(stored)).toEqual(['hello']);
      }
  });

  it('all conversations of the contact are read; when there are too many, nothing is certain', async () => {
    for (const [others, result] of [
      [1, 'found'],
      [10, 'unknown'],
    ] as const) {
      const found = Array.from({ length: others }, (_, index) => `other ${index}`);
      const { start, stored, byOurClock, counts, settled } = await setUp(['stored, response lost'], {
        conversations: {
          find: async () => succeeded([...found, 'v1']),
          messages: async (_location, id) =>
            succeeded({ messages: id === 'v1' ? stored.map(byOurClock) : [], hasMore: false }),
        },
      });
      await settled((await start()).deliver(LEASE, frame('g1', 1, 'hello')));
      expect(counts).toEqual([result]);
      expect(stored).toHaveLength(result === 'found' ? 1 : 2);
    }
  });

  it('of two messages that look alike, the one that was posted first is found first', async () => {
    const { start, stored, clock, settled } = await setUp(['late', 'late']);
    const inbound = await start();
    const first = inbound.deliver(LEASE, frame('g1', 1, 'ok'));
    await until(async () => (await clock.advance(1), clock.monotonic() >= 100));
    // Its first read and the second read of the other one come at the same time.
    await clock.advance(LAG_MS - 100);
    const second = inbound.deliver(LEASE, frame('g2', 2, 'ok'));
    await settled(Promise.all([first, second]));
    expect(texts(stored)).toEqual(['ok', 'ok']);
  });

  it('an older message with the same text, or a recorded one, is not taken for it', async () => {
    const fates: Fate[] = ['answered', 'lost before it was stored'];
    const { start, stored, counts, clock, settled, store } = await setUp(fates);
    store({
      locationId: LOCATION,
      contactId: 'c',
      message: 'ok',
      attachments: [],
      guid: '',
      idempotencyKey: '',
      direction: 'inbound',
    });
    await clock.advance(60_000);
    const inbound = await start();
    for (const guid of ['g1', 'g2']) await settled(inbound.deliver(LEASE, frame(guid, 1, 'ok')));
    expect(counts).toEqual(['absent']);
    expect(texts(stored)).toEqual(['ok', 'ok', 'ok']);
  });

  it('at most a hundred messages are read; when they do not reach back, nothing is certain', async () => {
    const { start, reads, counts, clock, settled, store } = await setUp(['lost before it was stored']);
    const ack = (await start()).deliver(LEASE, frame('g1', 1, 'hello'));
    await until(async () => (await clock.advance(1), clock.monotonic() > 100));
    for (let index = 0; index < 150; index++)
      store({
        locationId: LOCATION,
        contactId: 'c',
        message: `${index}`,
        attachments: [],
        guid: '',
        idempotencyKey: '',
        direction: 'inbound',
      });
    await settled(ack);
    expect(counts).toEqual(['unknown']);
    expect(reads.filter((read) => read.startsWith('v1'))).toHaveLength(5);
  });

  it('after a kill, a hundred messages that reach back to the claim are enough even if the clock was set', async () => {
    const { start, stored, reads, counts, clock, settled, store } = await setUp([
      'lost before it was stored',
    ]);
    for (let index = 0; index < 150; index++) {
      const message = `${index}`;
      store({
        locationId: LOCATION,
        contactId: 'c',
        message,
        attachments: [],
        guid: '',
        idempotencyKey: '',
        direction: 'inbound',
      });
      await clock.advance(200);
    }
    void (await start()).deliver(LEASE, frame('g1', 1, 'hello'));
    await clock.advance(100);
    expect(await settled((await start()).deliver(LEASE, frame('g1', 1, 'hello')))).toEqual({
      outcome: 'delivered',
    });
    expect(counts).toEqual(['absent']);
    expect(stored).toHaveLength(151);
    expect(reads.filter((read) => read.startsWith('v1'))).toHaveLength(10);
  });

  it('no more pages are read than reach back to the claim', async () => {
    const { start, reads, counts, clock, settled, store } = await setUp(['lost before it was stored']);
    for (let index = 0; index < 150; index++)
      store({
        locationId: LOCATION,
        contactId: 'c',
        message: 'hello',
        attachments: [],
        guid: '',
        idempotencyKey: '',
        direction: 'inbound',
      });
    await clock.advance(60_000);
    await settled((await start()).deliver(LEASE, frame('g1', 1, 'hello')));
    expect(counts).toEqual(['absent']);
    expect(reads).toEqual(['contact-1', 'v1', 'contact-1', 'v1']);
  });

  it('the read waits for the end of an outage of a few minutes; a longer one leaves the message uncertain', async () => {
    for (const [minutes, result] of [
      [10, 'found'],
      [20, 'unknown'],
    ] as const) {
      const { start, stored, counts, clock, settled, unreadable } = await setUp(['stored, response lost']);
      unreadable.failure = failed('http', { status: 503 });
      clock.after(minutes * 60_000, () => (unreadable.failure = undefined));
      await settled((await start()).deliver(LEASE, frame('g1', 1, 'hello')), 10_000);
      expect(counts).toEqual([result]);
      expect(stored).toHaveLength(result === 'found' ? 1 : 2);
    }
  });

  it('a read without a token waits until there is one', async () => {
    const { start, stored, counts, clock, settled, unreadable } = await setUp(['stored, response lost']);
    unreadable.failure = failed('reauth_required', { unsent: true });
    clock.after(3_600_000, () => (unreadable.failure = undefined));
    await settled((await start()).deliver(LEASE, frame('g1', 1, 'hello')), 60_000);
    expect(counts).toEqual(['found']);
    expect(stored).toHaveLength(1);
  });
});

describe('a write that the CRM fails on', () => {
  const failure = (locationOkMsAgo: number) =>
    failed('http', { status: 500, inDoubt: true, locationOkMsAgo });

  it('I6 a message is given up after a quarter of an hour when the CRM accepts others', async () => {
    let posts = 0;
    const { start, counts, clock, settled } = await setUp([], {
      calls: { post: async () => (posts++, failure(1000)) },
    });
    const from = clock.monotonic();
    expect(await settled((await start()).deliver(LEASE, frame('g1', 1, 'hello')))).toMatchObject({
      outcome: 'rejected',
      reason: expect.stringContaining('500'),
    });
    expect(clock.monotonic() - from).toBeGreaterThanOrEqual(900_000);
    expect(posts).toBeGreaterThanOrEqual(8);
    // Each attempt but the last one was followed by reads.
    expect(counts).toEqual(Array.from({ length: posts - 1 }, () => 'absent'));
  });

  it('I6 a contact is given up after a quarter of an hour when the CRM accepts others', async () => {
    const nothing = async () => succeeded(undefined);
    const upsert = async () => failure(1000);
    const { start, stored, settled } = await setUp([], {
      contacts: { find: nothing, findAll: async () => succeeded([]), upsert, create: upsert },
    });
    expect(await settled((await start()).deliver(LEASE, frame('g1', 1, 'hello')))).toMatchObject({
      outcome: 'rejected',
    });
    expect(stored).toEqual([]);
  });

  it('I6 a write is repeated for as long as the CRM accepts nothing else', async () => {
    const { start, clock, settled } = await setUp([], {
      calls: {
        post: async () => (clock.monotonic() < 4 * 3_600_000 ? failure(Infinity) : succeeded('crm-1')),
      },
    });
    expect(await settled((await start()).deliver(LEASE, frame('g1', 1, 'hello')), 30_000)).toEqual({
      outcome: 'delivered',
    });
  });

  it('I9 the conversation is read, and the write repeated, no sooner than the CRM allows', async () => {
    const waitMs = 300_000;
    const first = failed('http', { status: 503, inDoubt: true, retryAfterMs: waitMs });
    const results: Attempt<string>[] = [first, succeeded('crm-1')];
    const { start, reads, clock, settled } = await setUp([], {
      calls: { post: async () => results.shift() ?? first },
    });
    const ack = (await start()).deliver(LEASE, frame('g1', 1, 'hello'));
    await until(() => results.length === 1);
    await clock.advance(waitMs - 1);
    expect(reads).toEqual([]);
    expect(await settled(ack)).toEqual({ outcome: 'delivered' });
  });
});

describe('I9 in any order of lost responses, late writes and kills', () => {
  const fate = fc.constantFrom<Fate>(
    'answered',
    'stored, no id',
    'stored, response lost',
    'stored, 503',
    'lost before it was stored',
    'late',
    'refused for now',
  );
  const message = fc.record({ chat: fc.nat(2), text: fc.constantFrom('ok', 'yes'), isGroup: fc.boolean() });

  it('the CRM has each message once, also messages of the same text in one conversation', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { minLength: 1, maxLength: 6 }),
        fc.array(fate, { maxLength: 10 }),
        fc.array(fc.integer({ min: 0, max: 45 }), { maxLength: 3 }),
        async (messages, fates, secondsBetweenKills) => {
          const { start, stored, clock, settled } = await setUp([...fates]);
          const send = (inbound: Inbound) =>
            Promise.all(
              messages.map(({ chat, text, isGroup }, index) =>
                inbound.deliver(LEASE, frame(`g${index}`, chat, text, isGroup)),
              ),
            );
          for (const seconds of secondsBetweenKills) {
            void send(await start());
            for (let second = 0; second <= seconds; second++) {
              await clock.advance(1000);
              await new Promise((resolve) => setImmediate(resolve));
            }
          }
          const acks = await settled(send(await start()), 5000);
          expect(acks).toEqual(messages.map(() => ({ outcome: 'delivered' })));
          const plain = texts(stored).filter((text) => !text.includes('svc-metadata'));
          expect(plain).toEqual(messages.flatMap(({ text, isGroup }) => (isGroup ? [] : [text])).toSorted());
          const withFooter = texts(stored).filter((text) => text.includes('svc-metadata'));
          expect(new Set(withFooter).size).toBe(withFooter.length);
          expect(stored).toHaveLength(messages.length);
        },
      ),
      {
        numRuns: 100,
        examples: [
          // The message that is posted again after a rejection is the later of the two.
          [
            [
              { chat: 0, text: 'ok', isGroup: false },
              { chat: 1, text: 'ok', isGroup: false },
            ],
            ['refused for now', 'late', 'late'],
            [],
          ],
        ],
      },
    );
  });
});
