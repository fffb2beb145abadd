import { describe, expect, it } from 'vitest';
import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';

import { failed, CANCELLED, succeeded } from '../../platform/retry/retry.ts';
import type { FailureKind, Attempt, SendGuard } from '../../platform/retry/retry.ts';
import type { Lease } from '../switchboard/switchboard.ts';
import { STATUS_RETRY_POLICIES, StatusDelivery } from './delivery-queue.ts';
import type { StatusSource, StatusDeliveryDeps } from './delivery-queue.ts';

const HOUR_MS = 3_600_000;

/** Whether a status is retried after a failure of this kind. */
const retries = (
  source: StatusSource,
  kind: FailureKind,
  { attempts = 1, elapsedMs = 0, locationOkMsAgo = Number.POSITIVE_INFINITY } = {},
) =>
  STATUS_RETRY_POLICIES[source](failed(kind, { status: 500, locationOkMsAgo }), {
    attempts,
    elapsedMs,
    jitter: 1,
  }) !== undefined;

describe('a status is retried', () => {
  it('A4 up to five times when it is pending or a rejection', () => {
    for (const source of ['pending', 'rejection'] as const)
      for (const kind of ['http', 'network', 'timeout'] as const)
        expect([4, 5].map((attempts) => retries(source, kind, { attempts }))).toEqual([true, false]);
  });

  it.each(['circuit', 'crowded', 'reauth_required', 'token_refused', 'none'] as const)(
    'A4 not at all after %s when it is pending',
    (kind) => {
      expect(retries('pending', kind)).toBe(false);
    },
  );

  it.each(['http', 'network', 'timeout', 'circuit', 'crowded', 'unavailable', 'reauth_required'] as const)(
    'A11 for hours after %s when it is terminal',
    (kind) => {
      expect(retries('terminal', kind, { attempts: 500, elapsedMs: HOUR_MS })).toBe(true);
    },
  );

  it.each(['none', 'token_refused'] as const)('A11 not at all after %s when it is terminal', (kind) => {
    expect(retries('terminal', kind)).toBe(false);
  });

  it('A11 no more when the CRM fails on this terminal status alone', () => {
    const stuck = { attempts: 500, elapsedMs: HOUR_MS, locationOkMsAgo: 1000 };
    expect(retries('terminal', 'http', stuck)).toBe(false);
  });

  it('A11 five times while the message is too new', () => {
    for (const source of ['pending', 'terminal'] as const)
      expect([5, 6].map((attempts) => retries(source, 'not_yet', { attempts }))).toEqual([true, false]);
  });

  it('A2 a status is retried for a minute while a pending has no token or the lease cannot be confirmed; a rejection is not held', () => {
    const held = [59_000, 60_000].map((elapsedMs) =>
      retries('pending', 'unavailable', { attempts: 0, elapsedMs }),
    );
    expect(held).toEqual([true, false]);
    expect(retries('rejection', 'unavailable')).toBe(false);
  });

  it('A11 a status is retried at once with a renewed token', () => {
    for (const source of ['pending', 'terminal', 'rejection'] as const)
      expect(retries(source, 'token_expired', { attempts: 50 })).toBe(true);
  });
});

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
