import type { MessageReceivedFrame } from '@footbridge/protocol/frames';
import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';

import { EngineError } from '../../errors.ts';
import { FakeClock } from '../../fake-clock.ts';
import { createSqlGuids } from '../../ports/guids/guids-sql.ts';
import type { Guids } from '../../ports/guids/guids.ts';
import type { Recorded, StepName } from '../../ports/journal/journal.ts';
import type { Lease } from '../../ports/switchboard/switchboard.ts';
import { openDatabase } from '../../sql/open-database.ts';
import type { OpenDatabase } from '../../sql/open-database.ts';
import type { ContactCalls, Found, InboundMessage, Patience, Posted, Setback } from './crm-calls.ts';
import { createInbound } from './deliver-inbound.ts';
import type { Inbound, InboundDeps } from './deliver-inbound.ts';

const LOCATION = asLocationId('loc1') as LocationId;
const lease = (epoch = 1): Lease => ({ locationId: LOCATION, deviceId: 'd', sessionId: `s${epoch}`, epoch });
const SETBACK: Setback = {
  cause: 'http',
  status: 500,
  reason: 'oops',
  attempts: 1,
  sinceMs: 0,
  othersPass: false,
};
const posted = (inDoubt = false): Posted => ({ kind: 'posted', crmMessageId: 'crm-1', inDoubt });
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

const open: OpenDatabase[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((database) => database.close()));
});

interface Office {
  inbound: Inbound;
  clock: FakeClock;
  guids: (owner: string) => Guids;
  steps: [string, StepName, Recorded | undefined][];
  epoch: { value: number };
}

async function office(
  post: (message: InboundMessage, patience: Patience) => Promise<Posted>,
  more: Partial<InboundDeps> = {},
  contacts: Partial<ContactCalls> = {},
  wrap: (guids: Guids) => Guids = (guids) => guids,
): Promise<Office> {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  open.push(database);
  const clock = new FakeClock();
  const steps: Office['steps'] = [];
  const epoch = { value: 1 };
  const guids = (owner: string) => createSqlGuids({ database, clock, owner });
  const found: Found = { kind: 'found', contactId: 'contact-1' };
  const inbound = createInbound({
    guids: wrap(guids('me')),
    calls: { post },
    contacts: { find: async () => found, create: async () => found, ...contacts },
    journal: {
      open: (entry, step, recorded) => void steps.push([entry.id, step, recorded]),
      step: (id, step, recorded) => void steps.push([id, step, recorded]),
      inboundId: async () => undefined,
    },
    isCurrent: (one) => one.epoch === epoch.value,
    settings: { createContacts: true, footerOnPlainText: false, onUncertain: 'retry' },
    clock,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    failpoint: undefined,
    otherNodes: false,
    ...more,
  });
  return { inbound, clock, guids, steps, epoch };
}

/** The store takes a few turns of the event loop for each question. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

/** Lets the pauses of the clock pass until the promise is settled. */
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
    const { inbound, guids } = await office(async () => {
      seen.push(await others?.claim({ locationId: LOCATION, guid: 'g1' }, 1));
      return posted();
    });
    others = guids('another');
    expect(await inbound.deliver(lease(), frame('g1'))).toEqual(delivered);
    expect(seen).toEqual([{ kind: 'held', owner: 'me' }]);
    expect(await others.claim({ locationId: LOCATION, guid: 'g1' }, 1)).toEqual({ kind: 'sent' });
  });

  it('I6 that comes twice at the same time is posted once, and both are answered', async () => {
    const { promise, resolve } = Promise.withResolvers<Posted>();
    let posts = 0;
    const { inbound } = await office(() => (posts++, promise));
    const acks = [inbound.deliver(lease(), frame('g1')), inbound.deliver(lease(), frame('g1'))];
    await until(() => posts > 0);
    resolve(posted());
    expect(await Promise.all(acks)).toEqual([delivered, delivered]);
    expect(posts).toBe(1);
  });

  it('I6 goes on in the name of the newer line when the Mac came back meanwhile', async () => {
    const { promise, resolve } = Promise.withResolvers<Posted>();
    let patience: Patience | undefined;
    const { inbound, epoch } = await office((_message, mine) => ((patience = mine), promise));
    const first = inbound.deliver(lease(1), frame('g1'));
    await until(() => patience !== undefined);
    epoch.value = 2;
    expect(patience?.wanted(false)).toBe(false);
    const second = inbound.deliver(lease(2), frame('g1'));
    expect(patience?.wanted(false)).toBe(true);
    resolve(posted());
    expect(await Promise.all([first, second])).toEqual([delivered, delivered]);
  });

  it('I6 is left to the Mac when its line is not the newest any more', async () => {
    const { inbound, epoch } = await office(async () => posted());
    epoch.value = 2;
    expect(await inbound.deliver(lease(1), frame('g1'))).toBe('retry');
    expect(await inbound.deliver(lease(2), frame('g1'))).toEqual(delivered);
  });

  it('I5 nothing overtakes a message whose line was replaced while it was asked about', async () => {
    const asked = Promise.withResolvers<boolean>();
    let asking = false;
    const order: string[] = [];
    const { inbound, epoch } = await office(
      async ({ message }, patience) => {
        if (!(await patience.confirmed?.())) return { kind: 'unwanted' };
        order.push(message);
        return posted();
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

  it('I5 what stands behind a message that was not brought is not brought either', async () => {
    let fails = true;
    const { inbound } = await office(async () => {
      if (fails) throw new Error('a fault of ours');
      return posted();
    });
    const [first, second, elsewhere] = [
      inbound.deliver(lease(), frame('g1')),
      inbound.deliver(lease(), frame('g2')),
      inbound.deliver(lease(), frame('g3', 2)),
    ];
    expect(await Promise.all([first, second, elsewhere])).toEqual(['retry', 'retry', 'retry']);
    fails = false;
    const again = ['g1', 'g2'].map((guid) => inbound.deliver(lease(), frame(guid)));
    expect(await Promise.all(again)).toEqual([delivered, delivered]);
  });

  it('I6 of a process that is gone is uncertain: posted again under the same key, and flagged', async () => {
    const keys: string[] = [];
    const { inbound, guids, steps } = await office(
      async ({ idempotencyKey }) => (keys.push(idempotencyKey), posted()),
    );
    await guids('gone').claim({ locationId: LOCATION, guid: 'g1' }, 1);
    expect(await inbound.deliver(lease(), frame('g1'))).toEqual(delivered);
    expect(keys).toEqual([expect.stringMatching(/^[\da-f-]{36}$/)]);
    expect(steps.map(([, step]) => step)).toEqual(['received', 'uncertain', 'contact_found', 'crm_took_it']);
  });

  it('I6 of a node that may still be at it waits for that node', async () => {
    let posts = 0;
    const { inbound, guids, clock } = await office(async () => (posts++, posted()), { otherNodes: true });
    const other = guids('node-2');
    await other.claim({ locationId: LOCATION, guid: 'g1' }, 1);
    await other.claim({ locationId: LOCATION, guid: 'g2' }, 1);
    const acks = [inbound.deliver(lease(), frame('g1', 1)), inbound.deliver(lease(), frame('g2', 2))];
    for (let passed = 0; passed < 5000; passed += 500) {
      await turn();
      await clock.advance(500);
    }
    expect(posts).toBe(0);
    await other.sent({ locationId: LOCATION, guid: 'g1' }, 'crm-of-node-2');
    expect(await advanceUntil(clock, Promise.all(acks))).toEqual([delivered, delivered]);
    expect(posts).toBe(1);
  });

  it('I6 INBOUND_ON_UNCERTAIN=park puts an uncertain one aside; sent again it goes through', async () => {
    let posts = 0;
    const settings = { createContacts: true, footerOnPlainText: false, onUncertain: 'park' } as const;
    const { inbound, guids } = await office(async () => (posts++, posted()), { settings });
    await guids('gone').claim({ locationId: LOCATION, guid: 'g1' }, 1);
    expect(await inbound.deliver(lease(), frame('g1'))).toMatchObject({ outcome: 'rejected' });
    expect(posts).toBe(0);
    expect(await inbound.deliver(lease(), frame('g1'))).toEqual(delivered);
    expect(posts).toBe(1);
  });

  it('I6 waits for the store, and is acknowledged although it could not be marked', async () => {
    let away = 2;
    const failing = (guids: Guids): Guids => ({
      claim: (key, epoch) =>
        away-- > 0 ? Promise.reject(new EngineError('sql', 'away')) : guids.claim(key, epoch),
      takeOver: (...args) => guids.takeOver(...args),
      sent: () => Promise.reject(new EngineError('sql', 'away')),
      rejected: (key) => guids.rejected(key),
      prune: (ms) => guids.prune(ms),
      close: () => guids.close(),
    });
    const { inbound, clock } = await office(async () => posted(), {}, {}, failing);
    const ack = inbound.deliver(lease(), frame('g1'));
    expect(await advanceUntil(clock, ack)).toEqual(delivered);
  });

  it('I6 is tried as long as it takes, unless the CRM fails on this one alone', async () => {
    let patience: Patience | undefined;
    const { promise, resolve } = Promise.withResolvers<Posted>();
    const { inbound, steps } = await office((_message, mine) => ((patience = mine), promise));
    const ack = inbound.deliver(lease(), frame('g1'));
    await until(() => patience !== undefined);
    const long = { ...SETBACK, attempts: 200, sinceMs: 3_600_000 };
    for (const cause of [
      'http',
      'network',
      'timeout',
      'circuit',
      'none',
      'reauth_required',
      'away',
      'token_refused',
    ])
      expect(patience?.again({ ...long, cause, status: cause === 'http' ? 500 : 0 })).toBe(true);
    expect(patience?.again({ ...long, othersPass: true })).toBe(false);
    expect(patience?.again({ ...SETBACK, cause: 'empty', status: 201, attempts: 7 })).toBe(true);
    expect(patience?.again({ ...SETBACK, cause: 'empty', status: 201, attempts: 8 })).toBe(false);
    resolve({
      kind: 'given_up',
      setback: { ...SETBACK, cause: 'empty', status: 201, reason: 'nothing stored' },
    });
    expect(await ack).toEqual({ outcome: 'rejected', reason: 'the CRM refused: 201 nothing stored' });
    expect(steps.at(-1)).toMatchObject([
      expect.any(String),
      'parked',
      { state: 'undeliverable', code: 'CRM_REFUSED', detail: { seq: 1 } },
    ]);
  });

  it('posts attachments as they were prepared, with the notes', async () => {
    const seen: InboundMessage[] = [];
    const attachments = {
      prepare: async ({ contactId, urls }: { contactId: string; urls: readonly string[] }) => ({
        urls: urls.map((url) => `${url}?for=${contactId}`),
        notes: ['one was too large'],
      }),
    };
    const { inbound } = await office(async (message) => (seen.push(message), posted()), { attachments });
    await inbound.deliver(lease(), frame('g1', 1, { attachments: ['https://x.example/a.png'] }));
    expect(seen[0]?.attachments).toEqual(['https://x.example/a.png?for=contact-1']);
    expect(seen[0]?.message).toContain('one was too large');
  });

  it('closing lets what is on the wire be answered and leaves the rest to the Mac', async () => {
    const { promise, resolve } = Promise.withResolvers<Posted>();
    let onTheWire = false;
    const { inbound } = await office(() => ((onTheWire = true), promise));
    const [first, second] = [inbound.deliver(lease(), frame('g1')), inbound.deliver(lease(), frame('g2'))];
    await until(() => onTheWire);
    const closing = inbound.close();
    resolve(posted());
    await closing;
    expect(await first).toEqual(delivered);
    expect(await second).toBe('retry');
    expect(await inbound.deliver(lease(), frame('g3'))).toBe('retry');
  });
});

describe('the contact', () => {
  it('I2 is asked for once per handle and time, in any case of an address', async () => {
    const asked: string[] = [];
    const { inbound, clock } = await office(
      async () => posted(),
      {},
      {
        find: async (_location, handle) => {
          asked.push(handle);
          return { kind: 'found', contactId: 'c' };
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

  it('I2 a handle the search does not like may still be created', async () => {
    const { inbound } = await office(
      async () => posted(),
      {},
      {
        find: async () => ({ kind: 'refused', status: 422, reason: 'number must be valid' }),
      },
    );
    expect(await inbound.deliver(lease(), frame('g1', 1, { sender: '72345' }))).toEqual(delivered);
  });

  it('I2 a refusal with a remembered contact is believed once a fresh one is refused too', async () => {
    const tried: string[] = [];
    const ids = ['fresh'];
    const { inbound } = await office(
      async ({ contactId }) => {
        tried.push(contactId);
        return contactId === 'fresh' ? posted() : { kind: 'refused', status: 400, reason: 'no such contact' };
      },
      {},
      { find: async () => ({ kind: 'found', contactId: ids[0] ?? '' }) },
    );
    inbound.learn(LOCATION, '+14155550100', 'stale');
    expect(await inbound.deliver(lease(), frame('g1'))).toEqual(delivered);
    expect(tried).toEqual(['stale', 'fresh']);
    inbound.learn(LOCATION, '+14155550100', 'bad');
    ids[0] = 'bad';
    expect(await inbound.deliver(lease(), frame('g2'))).toMatchObject({ outcome: 'rejected' });
    expect(tried).toEqual(['stale', 'fresh', 'bad']);
  });
});

describe('in whatever order things happen', () => {
  it('I5 each chat arrives in order and each message once, while the Mac repeats itself and lines change', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.record({ chat: fc.nat(2), repeats: fc.nat(2) }), { minLength: 1, maxLength: 8 }),
        async (scheduler, plan) => {
          const arrived: string[] = [];
          const { inbound, epoch } = await office(async ({ message }, patience) => {
            await scheduler.schedule(Promise.resolve(), `${message} travels`);
            if (!patience.wanted(false)) return { kind: 'unwanted' };
            arrived.push(message);
            await scheduler.schedule(Promise.resolve(), `${message} is answered`);
            return posted();
          });
          const sendAll = (line: Lease) =>
            plan.flatMap(({ chat, repeats }, index) =>
              Array.from({ length: repeats + 1 }, () => inbound.deliver(line, frame(`g${index}`, chat))),
            );
          const first = Promise.all(sendAll(lease(1)));
          void scheduler.schedule(Promise.resolve(), 'the Mac comes back').then(() => {
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
