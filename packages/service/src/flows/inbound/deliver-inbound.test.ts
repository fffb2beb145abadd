import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { silentLog } from '@footbridge/testkit/silent-log';
import { afterEach, describe, expect, it } from 'vitest';

import { EngineError } from '../../errors.ts';
import { CANCELLED, failed, succeeded } from '../../ports/crm/attempt.ts';
import type { Attempt } from '../../ports/crm/attempt.ts';
import { createSqlGuids } from '../../ports/guids/guids-sql.ts';
import type { Guids } from '../../ports/guids/guids.ts';
import type { MessageTrail, Recorded, StepName } from '../../ports/journal/journal.ts';
import type { Lease } from '../../ports/switchboard/switchboard.ts';
import { openDatabase } from '../../sql/open-database.ts';
import type { OpenDatabase } from '../../sql/open-database.ts';
import type { ContactCalls, ConversationCalls, InboundCalls, InboundMessage } from './crm-calls.ts';
import { createInbound } from './deliver-inbound.ts';
import type { Inbound, InboundDeps } from './deliver-inbound.ts';

const LOCATION = asLocationId('loc1') as LocationId;
const lease = (epoch = 1): Lease => ({ locationId: LOCATION, deviceId: 'd', sessionId: `s${epoch}`, epoch });
const HTTP = failed('http', { status: 500, reason: 'oops' });
const posted = succeeded('crm-1');
const delivered = { outcome: 'delivered' };

const frame = (guid: string, chat = 1, more: Partial<MessageReceivedFrame> = {}): MessageReceivedFrame => ({
  type: 'message_received',
  seq: 1,
  guid,
  sender: '+14155550100',
  service: 'iMessage',
  text: `text of ${guid}`,
  sentAt: '2026-01-01T00:00:00Z',
  chat: { id: chat, isGroup: false, recipients: [] },
  attachments: [],
  ...more,
});

const SETTINGS: InboundDeps['settings'] = {
  createContacts: true,
  footerOnPlainText: false,
  onUncertain: 'retry',
  mirrorSent: false,
  settleMs: 20_000,
  readLagMs: 10_000,
};

const EMPTY: ConversationCalls = {
  find: async () => succeeded([]),
  messages: async () => succeeded({ messages: [], hasMore: false }),
};
const FORBIDDEN = failed('refused', { retryable: false, status: 403, reason: 'no access' });
const UNREADABLE: ConversationCalls = { find: async () => FORBIDDEN, messages: async () => FORBIDDEN };

const open: OpenDatabase[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((database) => database.close()));
});

interface SetUp {
  inbound: Inbound;
  clock: FakeClock;
  guids: (owner: string) => Guids;
  steps: [string, StepName, Recorded | undefined][];
  epoch: { value: number };
}

async function setUp(
  post: InboundCalls['post'],
  more: Partial<InboundDeps> = {},
  contacts: Partial<ContactCalls> = {},
  wrap: (guids: Guids) => Guids = (guids) => guids,
): Promise<SetUp> {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  open.push(database);
  const clock = new FakeClock();
  const steps: SetUp['steps'] = [];
  const epoch = { value: 1 };
  const guids = (owner: string) => createSqlGuids({ database, clock, owner });
  const found = async () => succeeded('contact-1');
  const inbound = createInbound({
    guids: wrap(guids('me')),
    calls: { post },
    contacts: { find: found, findAll: async () => succeeded([]), upsert: found, create: found, ...contacts },
    journal: {
      open: (entry, step, recorded) => void steps.push([entry.id, step, recorded]),
      step: (id, step, recorded) => void steps.push([id, step, recorded]),
      codeOf: async () => undefined,
      requestsOf: async () => [],
    },
    isCurrent: (one) => one.epoch === epoch.value,
    conversations: EMPTY,
    settings: SETTINGS,
    clock,
    log: silentLog,
    failpoint: undefined,
    otherNodes: false,
    ...more,
  });
  return { inbound, clock, guids, steps, epoch };
}

/** The store takes a few turns of the event loop for each query. */
const tick = () => new Promise((resolve) => setTimeout(resolve, 5));

/** Advances the clock until the promise is settled. */
async function advanceUntil<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  void promise.finally(() => (isSettled = true));
  await until(async () => {
    await clock.advance(500);
    return isSettled;
  });
  return promise;
}

describe('an inbound message', () => {
  it('I6 is claimed before it is posted and marked before it is acknowledged', async () => {
    let others: Guids | undefined;
    const seen: unknown[] = [];
    const { inbound, guids } = await setUp(async () => {
      seen.push(await others?.claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1'));
      return posted;
    });
    others = guids('another');
    expect(await inbound.deliver(lease(), frame('g1'))).toEqual(delivered);
    expect(seen).toMatchObject([{ kind: 'held', owner: 'me' }]);
    expect(await others.claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1')).toMatchObject({
      kind: 'sent',
    });
  });

  it('I6 that arrives twice at the same time is posted once, and both frames are acknowledged', async () => {
    const { promise, resolve } = Promise.withResolvers<Attempt<string>>();
    let posts = 0;
    const { inbound } = await setUp(() => (posts++, promise));
    const acks = [inbound.deliver(lease(), frame('g1')), inbound.deliver(lease(), frame('g1'))];
    await until(() => posts > 0);
    resolve(posted);
    expect(await Promise.all(acks)).toEqual([delivered, delivered]);
    expect(posts).toBe(1);
  });

  it('I6 continues under the newer lease when the Mac has reconnected', async () => {
    const first = Promise.withResolvers<Attempt<string>>();
    let posts = 0;
    const { inbound, epoch, clock } = await setUp(() =>
      posts++ === 0 ? first.promise : Promise.resolve(posted),
    );
    const before = inbound.deliver(lease(1), frame('g1'));
    await until(() => posts > 0);
    epoch.value = 2;
    const after = inbound.deliver(lease(2), frame('g1'));
    first.resolve(HTTP);
    expect(await advanceUntil(clock, Promise.all([before, after]))).toEqual([delivered, delivered]);
    expect(posts).toBe(2);
  });

  it('I6 stays on the Mac when its lease was lost while the CRM failed', async () => {
    const first = Promise.withResolvers<Attempt<string>>();
    let isInFlight = false;
    const { inbound, epoch } = await setUp(() => ((isInFlight = true), first.promise));
    const ack = inbound.deliver(lease(1), frame('g1'));
    await until(() => isInFlight);
    epoch.value = 2;
    first.resolve(HTTP);
    expect(await ack).toBe('retry');
  });

  it('I6 stays on the Mac when its lease is not current', async () => {
    const { inbound, epoch } = await setUp(async () => posted);
    epoch.value = 2;
    expect(await inbound.deliver(lease(1), frame('g1'))).toBe('retry');
    expect(await inbound.deliver(lease(2), frame('g1'))).toEqual(delivered);
  });

  it('I5 is not overtaken when its lease is replaced while it is being confirmed', async () => {
    const asked = Promise.withResolvers<boolean>();
    let asking = false;
    const order: string[] = [];
    const { inbound, epoch } = await setUp(
      async ({ message }, guard) => {
        if (!(await guard.fence?.())) return CANCELLED;
        order.push(message);
        return posted;
      },
      {
        confirm: (one) => {
          asking = true;
          return one.epoch === 1 ? asked.promise : Promise.resolve(true);
        },
      },
    );
    const before = [inbound.deliver(lease(1), frame('g1')), inbound.deliver(lease(1), frame('g2'))];
    await until(() => asking);
    epoch.value = 2;
    const after = [inbound.deliver(lease(2), frame('g1')), inbound.deliver(lease(2), frame('g2'))];
    asked.resolve(false);
    expect(await Promise.all([...before, ...after])).toEqual([delivered, delivered, delivered, delivered]);
    expect(order).toEqual(['text of g1', 'text of g2']);
  });

  it('I5 is not delivered when one before it in the chat was not', async () => {
    let fails = true;
    const { inbound, clock } = await setUp(async () => {
      if (fails) throw new Error('a fault of ours');
      return posted;
    });
    const [first, second, elsewhere] = [
      inbound.deliver(lease(), frame('g1')),
      inbound.deliver(lease(), frame('g2')),
      inbound.deliver(lease(), frame('g3', 2)),
    ];
    expect(await Promise.all([first, second, elsewhere])).toEqual(['retry', 'retry', 'retry']);
    fails = false;
    const again = ['g1', 'g2'].map((guid) => inbound.deliver(lease(), frame(guid)));
    expect(await advanceUntil(clock, Promise.all(again))).toEqual([delivered, delivered]);
  });

  it.each([
    ['continues its journal entry', 'entry-1', 'entry-1'],
    ['continues the entry found by its guid when an earlier version claimed it', null, 'found-2'],
  ])('I6 sent again by the Mac %s', async (_, entryId, id) => {
    const recorded: unknown[] = [];
    const record = (entry: string, step: StepName, { code }: Recorded = {}) =>
      void recorded.push([entry, step, code]);
    const { inbound } = await setUp(
      async () => posted,
      {
        journal: {
          open: (entry, step) => record(entry.id, step),
          step: record,
          codeOf: async (entry) => (entry === id ? 'UNCERTAIN' : null),
          requestsOf: async () => [{ id: 'found-1' }, { id: 'found-2' }] as MessageTrail[],
        },
      },
      {},
      (guids) => ({ ...guids, claim: async () => ({ kind: 'sent', entryId }) }),
    );
    expect(await inbound.deliver(lease(), frame('g1'))).toEqual(delivered);
    expect(recorded).toEqual([
      [id, 'received', undefined],
      [id, 'acknowledged', 'UNCERTAIN'],
    ]);
  });

  it.each([
    ['is missing', async () => undefined],
    ['cannot be read', () => Promise.reject(new EngineError('sql', 'away'))],
  ])('I6 sent again by the Mac has a new journal entry if the first %s', async (_, codeOf) => {
    const ids = new Set<string>();
    const record = (id: string) => void ids.add(id);
    const { inbound } = await setUp(
      async () => posted,
      {
        journal: {
          open: ({ id }) => record(id),
          step: record,
          codeOf,
          requestsOf: async () => [],
        },
      },
      {},
      (guids) => ({ ...guids, claim: async () => ({ kind: 'sent', entryId: 'entry-1' }) }),
    );
    expect(await inbound.deliver(lease(), frame('g1'))).toEqual(delivered);
    expect([...ids]).toEqual([expect.not.stringMatching('entry-1')]);
  });

  it('I9 claimed by a process that has ended is posted after two reads did not find it', async () => {
    const keys: string[] = [];
    const { inbound, guids, steps, clock } = await setUp(
      async ({ idempotencyKey }) => (keys.push(idempotencyKey), posted),
    );
    await guids('gone').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1');
    expect(await advanceUntil(clock, inbound.deliver(lease(), frame('g1')))).toEqual(delivered);
    expect(keys).toEqual([expect.stringMatching(/^[\da-f-]{36}$/)]);
    expect(steps.map(([, step]) => step)).toEqual(['received', 'looked_up', 'contact_found', 'crm_took_it']);
    expect(new Set(steps.map(([id]) => id))).toEqual(new Set(['entry-1']));
  });

  it('I9 is posted again and flagged when the conversation cannot be read', async () => {
    const { inbound, guids, steps, clock } = await setUp(async () => posted, { conversations: UNREADABLE });
    await guids('gone').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1');
    expect(await advanceUntil(clock, inbound.deliver(lease(), frame('g1')))).toEqual(delivered);
    expect(steps.map(([, step]) => step)).toEqual(['received', 'uncertain', 'contact_found', 'crm_took_it']);
    expect(steps[1]?.[2]?.detail).toEqual({
      reason:
        'the conversation cannot be read: 403 no access; grant the scope conversations.readonly and install the app again',
      scope: 'conversations.readonly',
    });
  });

  it('I6 claimed by a node that may still be posting it waits for that node', async () => {
    let posts = 0;
    const { inbound, guids, clock } = await setUp(async () => (posts++, posted), { otherNodes: true });
    const other = guids('node-2');
    await other.claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1');
    await other.claim({ locationId: LOCATION, guid: 'g2' }, 'entry-2');
    const acks = [inbound.deliver(lease(), frame('g1', 1)), inbound.deliver(lease(), frame('g2', 2))];
    for (let passed = 0; passed < 5000; passed += 500) {
      await tick();
      await clock.advance(500);
    }
    expect(posts).toBe(0);
    await other.sent({ locationId: LOCATION, guid: 'g1' }, 'crm-of-node-2');
    expect(await advanceUntil(clock, Promise.all(acks))).toEqual([delivered, delivered]);
    expect(posts).toBe(1);
  });

  it('I9 is parked with INBOUND_ON_UNCERTAIN=park when the conversation cannot be read, and is posted when it is redelivered', async () => {
    let posts = 0;
    const { inbound, guids, clock } = await setUp(async () => (posts++, posted), {
      settings: { ...SETTINGS, onUncertain: 'park' },
      conversations: UNREADABLE,
    });
    await guids('gone').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1');
    const deliver = () => advanceUntil(clock, inbound.deliver(lease(), frame('g1')));
    expect(await deliver()).toMatchObject({ outcome: 'rejected' });
    expect(posts).toBe(0);
    expect(await deliver()).toEqual(delivered);
    expect(posts).toBe(1);
  });

  it('I9 parked because the conversation could not be read is not posted again once a read finds it', async () => {
    let conversations = UNREADABLE;
    const { inbound, clock } = await setUp(async () => failed('timeout', { inDoubt: true }), {
      settings: { ...SETTINGS, onUncertain: 'park' },
      conversations: {
        find: (...given) => conversations.find(...given),
        messages: (...given) => conversations.messages(...given),
      },
    });
    const deliver = () => advanceUntil(clock, inbound.deliver(lease(), frame('g1')));
    expect(await deliver()).toMatchObject({ outcome: 'rejected' });
    const stored = {
      id: 'crm-9',
      isInbound: true,
      text: 'text of g1',
      attachments: [],
      addedAt: clock.now(),
    };
    conversations = {
      find: async () => succeeded(['v1']),
      messages: async () => succeeded({ messages: [stored], hasMore: false }),
    };
    expect(await deliver()).toEqual(delivered);
  });

  it('I9 claimed by a process that has ended is searched for at every contact with this handle', async () => {
    const read: string[] = [];
    const { inbound, guids, clock } = await setUp(
      () => expect.unreachable(),
      {
        conversations: {
          find: async (_location, contactId) => (read.push(contactId), succeeded([`of ${contactId}`])),
          messages: async (_location, conversationId) => {
            const stored = { id: 'crm-9', isInbound: true, text: 'text of g1', attachments: [] };
            const messages = conversationId === 'of second' ? [{ ...stored, addedAt: clock.now() }] : [];
            return succeeded({ messages, hasMore: false });
          },
        },
      },
      { find: async () => succeeded('first'), findAll: async () => succeeded(['first', 'second']) },
    );
    await guids('gone').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1');
    expect(await advanceUntil(clock, inbound.deliver(lease(), frame('g1')))).toEqual(delivered);
    expect(read).toEqual(['first', 'second']);
  });

  it('I9 released before it was posted is claimed again without a read', async () => {
    const { inbound, epoch, guids } = await setUp(async () => CANCELLED, {
      conversations: { find: () => expect.unreachable(), messages: () => expect.unreachable() },
    });
    expect(await inbound.deliver(lease(1), frame('g1'))).toBe('retry');
    epoch.value = 2;
    expect(await guids('another').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1')).toMatchObject({
      kind: 'claimed',
      uncertain: false,
    });
  });

  it('I9 released after its response was lost stays uncertain', async () => {
    const { inbound, epoch, guids } = await setUp(async () => {
      epoch.value = 2;
      return failed('timeout', { inDoubt: true });
    });
    expect(await inbound.deliver(lease(1), frame('g1'))).toBe('retry');
    expect(await guids('another').claim({ locationId: LOCATION, guid: 'g1' }, 'entry-1')).toMatchObject({
      kind: 'claimed',
      uncertain: true,
    });
  });

  it('I6 waits for the store, and is acknowledged even if it could not be marked', async () => {
    let away = 2;
    const failing = (guids: Guids): Guids => ({
      claim: (...args) =>
        away-- > 0 ? Promise.reject(new EngineError('sql', 'away')) : guids.claim(...args),
      takeOver: (...args) => guids.takeOver(...args),
      sent: () => Promise.reject(new EngineError('sql', 'away')),
      rejected: (...args) => guids.rejected(...args),
      released: (...args) => guids.released(...args),
      recordedForOthers: (...args) => guids.recordedForOthers(...args),
      prune: (ms) => guids.prune(ms),
      close: () => guids.close(),
    });
    const { inbound, clock } = await setUp(async () => posted, {}, {}, failing);
    const ack = inbound.deliver(lease(), frame('g1'));
    expect(await advanceUntil(clock, ack)).toEqual(delivered);
  });

  it.each([
    ['I6 accepted by the CRM', posted, delivered],
    ['I9 with a lost response', failed('timeout', { inDoubt: true }), 'retry'],
  ] as const)(
    '%s is not posted again by the same process when its claim could be neither marked nor released',
    async (_what, result, outcome) => {
      const texts: string[] = [];
      let isAway = false;
      const unlessAway = <T>(call: () => Promise<T>) =>
        isAway ? Promise.reject(new EngineError('sql', 'away')) : call();
      const failing = (guids: Guids): Guids => ({
        claim: (...args) => unlessAway(() => guids.claim(...args)),
        takeOver: (...args) => guids.takeOver(...args),
        sent: (...args) => unlessAway(() => guids.sent(...args)),
        rejected: (...args) => guids.rejected(...args),
        released: (...args) => unlessAway(() => guids.released(...args)),
        recordedForOthers: (...args) => guids.recordedForOthers(...args),
        prune: (ms) => guids.prune(ms),
        close: () => guids.close(),
      });
      const conversations: ConversationCalls = {
        find: async () => succeeded(['conversation-1']),
        messages: async () =>
          succeeded({
            messages: texts.map((text, index) => ({
              id: `crm-${index}`,
              isInbound: true,
              text,
              attachments: [],
              addedAt: clock.now(),
            })),
            hasMore: false,
          }),
      };
      const post: InboundCalls['post'] = async ({ message }) => {
        texts.push(message);
        // The store and the Mac are lost together with the CRM.
        isAway = true;
        epoch.value = 2;
        return result;
      };
      const { inbound, clock, epoch } = await setUp(post, { conversations }, {}, failing);
      expect(await advanceUntil(clock, inbound.deliver(lease(1), frame('g1')))).toEqual(outcome);
      isAway = false;
      expect(await advanceUntil(clock, inbound.deliver(lease(2), frame('g1')))).toEqual(delivered);
      expect(texts).toEqual(['text of g1']);
    },
  );

  it('I6 is retried until the CRM accepts it, and each kind of failure is recorded once', async () => {
    const results = [
      failed('none', { unsent: true }),
      HTTP,
      HTTP,
      failed('token_expired', { status: 401 }),
      failed('circuit', { unsent: true, retryAfterMs: 10_000 }),
      failed('timeout', { inDoubt: true }),
      HTTP,
    ];
    const { inbound, clock, steps } = await setUp(async () => results.shift() ?? posted);
    const ack = inbound.deliver(lease(), frame('g1'));
    expect(await advanceUntil(clock, ack)).toEqual(delivered);
    expect(steps.map(([, step, recorded]) => [step, recorded?.detail?.['cause']])).toEqual([
      ['received', undefined],
      ['contact_found', undefined],
      ['no_token', undefined],
      ['crm_refused', 'http'],
      ['crm_refused', 'circuit'],
      ['crm_refused', 'timeout'],
      ['looked_up', undefined],
      ['crm_took_it', undefined],
    ]);
  });

  it.each(['reauth_required', 'token_refused'] as const)(
    'I6 has the code TOKEN_REJECTED while the attempts end with %s',
    async (kind) => {
      const results = [failed(kind, { status: 401 })];
      const { inbound, clock, steps } = await setUp(async () => results.shift() ?? posted);
      expect(await advanceUntil(clock, inbound.deliver(lease(), frame('g1')))).toEqual(delivered);
      const noted = steps.find(([, step]) => step === 'crm_refused')?.[2];
      expect(noted).toMatchObject({ state: 'received', code: 'TOKEN_REJECTED' });
    },
  );

  it('I1 is parked when the CRM stores nothing eight times', async () => {
    let posts = 0;
    const { inbound, clock, steps } = await setUp(async () => {
      posts++;
      return failed('empty', { status: 201, reason: 'nothing stored', inDoubt: true });
    });
    const ack = inbound.deliver(lease(), frame('g1'));
    expect(await advanceUntil(clock, ack)).toEqual({
      outcome: 'rejected',
      reason: 'the CRM refused: 201 nothing stored',
    });
    expect(posts).toBe(8);
    expect(steps.at(-1)).toMatchObject([
      expect.any(String),
      'parked',
      { state: 'undeliverable', code: 'CRM_REFUSED', detail: { seq: 1 } },
    ]);
  });

  it('is posted with its attachments as they were prepared, and their notes', async () => {
    const seen: InboundMessage[] = [];
    const attachments = {
      handsOver: true,
      prepare: async ({ contactId, urls }: { contactId: string; urls: readonly string[] }) => ({
        urls: urls.map((url) => `${url}?for=${contactId}`),
        notes: ['one was too large'],
      }),
    };
    const { inbound } = await setUp(async (message) => (seen.push(message), posted), { attachments });
    await inbound.deliver(lease(), frame('g1', 1, { attachments: ['https://x.example/a.png'] }));
    expect(seen[0]?.attachments).toEqual(['https://x.example/a.png?for=contact-1']);
    expect(seen[0]?.message).toContain('one was too large');
  });

  it('in flight is completed when the flow closes; the others stay on the Mac', async () => {
    const { promise, resolve } = Promise.withResolvers<Attempt<string>>();
    let isInFlight = false;
    const { inbound } = await setUp(() => ((isInFlight = true), promise));
    const [first, second] = [inbound.deliver(lease(), frame('g1')), inbound.deliver(lease(), frame('g2'))];
    await until(() => isInFlight);
    const closing = inbound.close();
    resolve(posted);
    await closing;
    expect(await first).toEqual(delivered);
    expect(await second).toBe('retry');
    expect(await inbound.deliver(lease(), frame('g3'))).toBe('retry');
  });

  it('I8 does not delay a stop while its files are prepared, and is not posted after it', async () => {
    const { promise: preparing, resolve: isPreparing } = Promise.withResolvers<void>();
    let isPrepared = false;
    let posts = 0;
    const post = async () => (posts++, posted);
    const { inbound, clock } = await setUp(post, {
      attachments: {
        handsOver: true,
        async prepare({ urls, job }) {
          isPreparing();
          await clock.sleep(30_000, job.cancellation.signal);
          isPrepared = true;
          return { urls, notes: [] };
        },
      },
    });
    const ack = inbound.deliver(lease(), frame('g1', 1, { attachments: ['https://x.example/a.png'] }));
    await preparing;
    await inbound.close();
    expect(await ack).toBe('retry');
    expect(isPrepared).toBe(true);
    expect(posts).toBe(0);
  });
});

describe('the contact of a sender', () => {
  it('I2 is searched once per handle and hour, whatever the case of an address', async () => {
    const asked: string[] = [];
    const { inbound, clock } = await setUp(
      async () => posted,
      {},
      {
        find: async (_location, handle) => {
          asked.push(handle);
          return succeeded('c');
        },
      },
    );
    for (const [guid, sender] of [
      ['g1', 'Jo@Example.com'],
      ['g2', 'jo@example.com'],
      ['g3', '+14155550100'],
    ] as const)
      await inbound.deliver(lease(), frame(guid, 1, { sender }));
    expect(asked).toEqual(['Jo@Example.com', '+14155550100']);
    await clock.advance(3_600_001);
    await inbound.deliver(lease(), frame('g4'));
    expect(asked).toHaveLength(3);
  });

  it('I2 is created when the search rejects the form of the handle', async () => {
    const { inbound } = await setUp(
      async () => posted,
      {},
      {
        find: async () =>
          failed('refused', { retryable: false, status: 422, reason: 'number must be valid' }),
      },
    );
    expect(await inbound.deliver(lease(), frame('g1', 1, { sender: '72345' }))).toEqual(delivered);
  });

  it('I2 is searched again when the CRM rejects the cached one', async () => {
    const tried: string[] = [];
    const known = { found: 'stale', accepted: 'stale' };
    const { inbound } = await setUp(
      async ({ contactId }) => {
        tried.push(contactId);
        return contactId === known.accepted
          ? posted
          : failed('refused', { retryable: false, status: 400, reason: 'no such contact' });
      },
      {},
      { find: async () => succeeded(known.found) },
    );
    await inbound.deliver(lease(), frame('g1'));
    known.found = known.accepted = 'fresh';
    expect(await inbound.deliver(lease(), frame('g2'))).toEqual(delivered);
    expect(tried).toEqual(['stale', 'stale', 'fresh']);
    known.accepted = 'none';
    expect(await inbound.deliver(lease(), frame('g3'))).toMatchObject({ outcome: 'rejected' });
    expect(tried).toEqual(['stale', 'stale', 'fresh', 'fresh']);
  });

  it.each([
    ['the list has it', succeeded(['found', 'preferred']), 'preferred'],
    ['the list does not have it', succeeded(['found']), 'found'],
    ['the list cannot be read', failed('refused', { retryable: false, status: 403 }), 'found'],
    ['the list is not usable', failed('empty', { status: 200 }), 'found'],
  ])('I2 is the preferred one only if the list of contacts has it: %s', async (_case, listed, expected) => {
    const used: string[] = [];
    let reads = 0;
    const { inbound, clock } = await setUp(
      async ({ contactId }) => (used.push(contactId), posted),
      {},
      {
        find: async () => succeeded('found'),
        findAll: async () => (reads++ === 0 ? listed : succeeded([])),
      },
    );
    inbound.prefer(LOCATION, '+14155550100', 'preferred');
    expect(await advanceUntil(clock, inbound.deliver(lease(), frame('g1')))).toEqual(delivered);
    expect([used, reads]).toEqual([[expected], 1]);
  });

  it('I2 is created without upsert where the CRM has none, and not at all after another rejection', async () => {
    for (const [status, ack, creations] of [
      [404, delivered, 1],
      [405, delivered, 1],
      [422, { outcome: 'rejected', reason: 'the CRM refused: 422 no' }, 0],
    ] as const) {
      let created = 0;
      const { inbound } = await setUp(
        async () => posted,
        {},
        {
          find: async () => succeeded(undefined),
          upsert: async () => failed('refused', { retryable: false, status, reason: 'no' }),
          create: async () => (created++, succeeded('c')),
        },
      );
      expect(await inbound.deliver(lease(), frame('g1'))).toEqual(ack);
      expect(created).toBe(creations);
    }
  });

  it('I2 is not created after a search that the CRM forbids', async () => {
    const { inbound } = await setUp(
      async () => posted,
      {},
      {
        find: async () => failed('refused', { retryable: false, status: 403, reason: 'no access' }),
        upsert: () => expect.unreachable(),
      },
    );
    expect(await inbound.deliver(lease(), frame('g1'))).toMatchObject({ outcome: 'rejected' });
  });

  it('I2 is searched again by the next message when the first one was cancelled', async () => {
    let searches = 0;
    const { inbound, epoch } = await setUp(
      async () => posted,
      {},
      { find: async () => (searches++ === 0 ? CANCELLED : succeeded('c')) },
    );
    const acks = [inbound.deliver(lease(), frame('g1', 1)), inbound.deliver(lease(), frame('g2', 2))];
    expect((await Promise.all(acks)).filter((ack) => ack !== 'retry')).toEqual([delivered]);
    expect([searches, epoch.value]).toEqual([2, 1]);
  });
});

describe('in any order of events', () => {
  it('I5 each chat arrives in order and each message once, while the Mac repeats frames and leases change', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.record({ chat: fc.nat(2), repeats: fc.nat(2) }), { minLength: 1, maxLength: 8 }),
        async (scheduler, plan) => {
          const arrived: string[] = [];
          const { inbound, epoch } = await setUp(async ({ message }, guard) => {
            await scheduler.schedule(Promise.resolve(), `${message} is queued`);
            if (!(await guard.fence?.())) return CANCELLED;
            arrived.push(message);
            await scheduler.schedule(Promise.resolve(), `${message} is answered`);
            return posted;
          });
          const sendAll = (under: Lease) =>
            plan.flatMap(({ chat, repeats }, index) =>
              Array.from({ length: repeats + 1 }, () => inbound.deliver(under, frame(`g${index}`, chat))),
            );
          const first = Promise.all(sendAll(lease(1)));
          void scheduler.schedule(Promise.resolve(), 'the Mac reconnects').then(() => {
            epoch.value = 2;
          });
          await scheduler.waitFor(first);
          epoch.value = 2;
          const second = Promise.all(sendAll(lease(2)));
          await scheduler.waitFor(second);
          expect(new Set((await second).map((ack) => JSON.stringify(ack)))).toEqual(
            new Set([JSON.stringify(delivered)]),
          );
          for (const chat of [0, 1, 2]) {
            const texts = plan.flatMap((one, index) => (one.chat === chat ? [`text of g${index}`] : []));
            expect(arrived.filter((text) => texts.includes(text))).toEqual(texts);
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});
