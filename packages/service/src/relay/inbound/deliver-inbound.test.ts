import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { CANCELLED, failed } from '../../platform/retry/retry.ts';
import type { Attempt } from '../../platform/retry/retry.ts';
import type { Guids } from './guids-sql.ts';
import type { Lease } from '../switchboard/switchboard.ts';
import type { InboundMessage } from './inbound-calls.ts';
import {
  HTTP,
  LOCATION,
  advanceUntil,
  delivered,
  frame,
  lease,
  posted,
  setUp,
} from './deliver-inbound.fixture.ts';

describe('an inbound message', () => {
  it('I6 a message is claimed before it is posted and marked before it is acknowledged', async () => {
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

  it('I6 a message that arrives twice at the same time is posted once, and both frames are acknowledged', async () => {
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

  it('I5 a message is not overtaken when its lease is replaced while it is being confirmed', async () => {
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

  it('I5 a message is not delivered while an earlier one of its chat is not', async () => {
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

  it('I6 a message waits for the store, and is acknowledged even if it could not be marked', async () => {
    let away = 2;
    const failing = (guids: Guids) => ({
      claim: (...args: Parameters<Guids['claim']>) =>
        away-- > 0 ? Promise.reject(new EngineError('sql', 'away')) : guids.claim(...args),
      sent: () => Promise.reject(new EngineError('sql', 'away')),
    });
    const { inbound, clock } = await setUp(async () => posted, {}, {}, failing);
    const ack = inbound.deliver(lease(), frame('g1'));
    expect(await advanceUntil(clock, ack)).toEqual(delivered);
  });

  it('I6 a message is retried until the CRM accepts it, and each kind of failure is recorded once', async () => {
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
      ['crm_accepted', undefined],
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

  it('I1 a message is parked when the CRM stores nothing eight times', async () => {
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

  it('a message is posted with its attachments as they were prepared, and their notes', async () => {
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

  it('a message in flight is completed when the flow closes; the others stay on the Mac', async () => {
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

  it('I8 a message does not delay a stop while its files are prepared, and is not posted after it', async () => {
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
