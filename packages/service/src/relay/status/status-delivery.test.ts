import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { CANCELLED, failed, succeeded } from '../../platform/retry/attempt.ts';
import type { Attempt, SendGuard } from '../../platform/retry/attempt.ts';
import type { Lease } from '../switchboard/switchboard.ts';
import { StatusDelivery } from './status-delivery.ts';
import type { StatusDeliveryDeps } from './status-delivery.ts';
import type { StatusSource } from './status-retry-policy.ts';

const lease: Lease = {
  locationId: asLocationId('loc1') as LocationId,
  deviceId: 'd',
  sessionId: 's',
  epoch: 1,
};
const update = { locationId: 'loc1', messageId: 'm', status: 'pending', error: undefined } as const;
const OK = succeeded(undefined);
const HTTP = failed('http', { status: 503 });
const UNAVAILABLE = failed('unavailable', { unsent: true, retryAfterMs: 500 });

/** A delivery to a CRM that returns `results` in turn, the last one for ever. `sent` counts requests that passed the fence. */
function setUp(
  results: readonly Attempt<undefined>[],
  source: StatusSource = 'pending',
  deps: Partial<StatusDeliveryDeps> = {},
) {
  const clock = new FakeClock();
  const guards: SendGuard[] = [];
  let sent = 0;
  const calls = {
    async put(_update: object, guard: SendGuard) {
      guards.push(guard);
      const result = results[Math.min(guards.length, results.length) - 1] ?? OK;
      if (!result.ok && result.unsent === true) return result;
      if (!(await guard.fence?.())) return CANCELLED;
      sent++;
      return result;
    },
  };
  const delivery = new StatusDelivery(source, update, lease, {
    calls,
    clock,
    isCurrent: () => true,
    ...deps,
  });
  return { clock, delivery, guards, sent: () => sent };
}

it('A2 a pending that is superseded before its first attempt is still sent once', async () => {
  const { delivery, clock, sent } = setUp([HTTP]);
  delivery.supersede();
  const result = delivery.send();
  await clock.advance(60_000);
  expect(await result).toBe(CANCELLED);
  expect(sent()).toBe(1);
});

it('A4 a pending whose Mac reports while its lease is being confirmed is still sent', async () => {
  const asked = Promise.withResolvers<boolean>();
  const { delivery, sent } = setUp([OK], 'pending', { confirm: () => asked.promise });
  const result = delivery.send();
  delivery.supersede();
  asked.resolve(true);
  expect(await result).toBe(OK);
  expect(sent()).toBe(1);
});

it('A4 a superseded pending completes an attempt whose token was renewed', async () => {
  const { delivery, sent } = setUp([failed('token_expired', { status: 401 }), OK]);
  const result = delivery.send();
  delivery.supersede();
  expect(await result).toBe(OK);
  expect(sent()).toBe(2);
});

it('A4 a superseded pending is not retried, and does not wait for the retry either', async () => {
  const { delivery, clock, sent } = setUp([HTTP]);
  const result = delivery.send();
  await clock.advance(0);
  delivery.supersede();
  expect(await result).toBe(CANCELLED);
  expect(sent()).toBe(1);
});

it('A2 a pending that waits for its lease store is not held once it is superseded', async () => {
  const { delivery, clock, guards, sent } = setUp([UNAVAILABLE]);
  const result = delivery.send();
  await clock.advance(600);
  const before = guards.length;
  delivery.supersede();
  expect(await result).toBe(CANCELLED);
  expect([guards.length, sent()]).toEqual([before + 1, 0]);
});

it('A11 nothing is sent under a lease that is not current', async () => {
  const { delivery, guards } = setUp([OK], 'pending', { isCurrent: () => false });
  expect(await delivery.send()).toBe(CANCELLED);
  expect(guards).toEqual([]);
});

it('A11 nothing is sent when the lease store denies the lease', async () => {
  const { delivery, sent } = setUp([OK], 'terminal', { confirm: async () => false });
  expect(await delivery.send()).toBe(CANCELLED);
  expect(sent()).toBe(0);
});

it('A11 nothing is sent when the lease is lost while it is being confirmed', async () => {
  const asked = Promise.withResolvers<boolean>();
  let isCurrent = true;
  const { delivery, sent } = setUp([OK], 'terminal', {
    isCurrent: () => isCurrent,
    confirm: () => asked.promise,
  });
  const result = delivery.send();
  isCurrent = false;
  asked.resolve(true);
  expect(await result).toBe(CANCELLED);
  expect(sent()).toBe(0);
});

it('A5 a withdrawn status is not sent at all, and leaves the queue of the rate limit', async () => {
  const { delivery, guards } = setUp([OK], 'rejection');
  delivery.withdraw();
  expect(await delivery.send()).toBe(CANCELLED);
  expect(guards).toEqual([]);

  const queued = setUp([UNAVAILABLE], 'pending');
  const result = queued.delivery.send();
  await queued.clock.advance(0);
  expect(queued.guards[0]?.cancellation?.signal.aborted).toBe(false);
  queued.delivery.supersede();
  expect(queued.guards[0]?.cancellation?.signal.aborted).toBe(false);
  queued.delivery.withdraw();
  expect(queued.guards[0]?.cancellation?.signal.aborted).toBe(true);
  expect(await result).toBe(CANCELLED);
});
