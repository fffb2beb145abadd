import { FakeClock } from '@footbridge/testkit/fake-clock';
import { describe, expect, it } from 'vitest';

import { CANCELLED, failed, succeeded, backoff, fixedDelay, isStuck, once, retry } from './retry.ts';
import type { Attempt, FailedAttempt, RetryOptions } from './retry.ts';

const HTTP = failed('http', { status: 503 });
const UNAVAILABLE = failed('unavailable', { unsent: true });
const REFUSED = failed('refused', { retryable: false, status: 422 });
const OK = succeeded('value');

/** Runs the loop on a fake clock over `results`, of which the last one repeats. */
function run(results: readonly Attempt<string>[], more: Partial<RetryOptions<string>> = {}) {
  const clock = new FakeClock();
  const times: number[] = [];
  const previous: (FailedAttempt | undefined)[] = [];
  const done = retry({
    attempt: async (before) => {
      times.push(clock.monotonic());
      previous.push(before);
      return results[Math.min(times.length, results.length) - 1] ?? OK;
    },
    policy: backoff,
    clock,
    random: () => 1,
    ...more,
  });
  const gaps = () => times.slice(1).map((time, index) => time - (times[index] ?? 0));
  return { clock, done, times, previous, gaps };
}

describe('the retry loop', () => {
  it('returns a success, and a failure that is not retryable, at once', async () => {
    for (const result of [OK, REFUSED, CANCELLED]) {
      const { done, times } = run([result]);
      expect(await done).toBe(result);
      expect(times).toHaveLength(1);
    }
  });

  it('passes each failure to the next attempt and waits as the policy says', async () => {
    const { clock, done, previous, gaps } = run([HTTP, UNAVAILABLE, HTTP, OK], { policy: () => 700 });
    await clock.advance(2100);
    expect(await done).toBe(OK);
    expect(previous).toEqual([undefined, HTTP, UNAVAILABLE, HTTP]);
    expect(gaps()).toEqual([700, 700, 700]);
  });

  it('returns the last failure when the policy gives up', async () => {
    const { clock, done, times } = run([HTTP, UNAVAILABLE], {
      policy: (failure) => (failure === HTTP ? 10 : undefined),
    });
    await clock.advance(10);
    expect(await done).toBe(UNAVAILABLE);
    expect(times).toHaveLength(2);
  });

  it('passes the number of requests sent and the elapsed time to the policy', async () => {
    const seen: object[] = [];
    const { clock, done } = run([HTTP, UNAVAILABLE, HTTP, OK], {
      policy: (_failure, progress) => {
        seen.push(progress);
        return 100;
      },
    });
    await clock.advance(300);
    await done;
    expect(seen).toEqual([
      { attempts: 1, elapsedMs: 0, jitter: 1 },
      { attempts: 1, elapsedMs: 100, jitter: 1 },
      { attempts: 2, elapsedMs: 200, jitter: 1 },
    ]);
  });

  it('makes no attempt that is not wanted', async () => {
    const { done, times } = run([OK], { isWanted: () => false });
    expect(await done).toBe(CANCELLED);
    expect(times).toEqual([]);
  });

  it('is cancelled rather than failed when it is not wanted after a failure', async () => {
    const { done } = run([HTTP], { isWanted: (before) => before === undefined, policy: () => undefined });
    expect(await done).toBe(CANCELLED);
  });

  it('ends a wait when the signal aborts, makes one more attempt if wanted, and waits no more', async () => {
    const stop = new AbortController();
    const { clock, done, times } = run([HTTP], { cancellation: stop });
    await clock.advance(100);
    stop.abort();
    expect(await done).toBe(CANCELLED);
    expect(times).toEqual([0, 100]);
  });

  it('reports each failure that may be retried', async () => {
    const reported: FailedAttempt[] = [];
    const { clock, done } = run([HTTP, UNAVAILABLE, REFUSED], {
      onFailure: (failure) => reported.push(failure),
    });
    await clock.advance(2000);
    expect(await done).toBe(REFUSED);
    expect(reported).toEqual([HTTP, UNAVAILABLE]);
  });

  it('reports a failure of a call that is no longer wanted', async () => {
    const reported: FailedAttempt[] = [];
    const { done } = run([HTTP], {
      onFailure: (failure) => reported.push(failure),
      isWanted: (previous) => previous === undefined,
    });
    expect(await done).toBe(CANCELLED);
    expect(reported).toEqual([HTTP]);
  });
});

describe('a retry policy', () => {
  const progress = { attempts: 1, elapsedMs: 0, jitter: 1 };

  it('doubles the wait up to half a minute; jitter takes up to half of it', () => {
    const waits = [0, 1, 2, 3, 7, 8, 500].map((attempts) => backoff(HTTP, { ...progress, attempts }));
    expect(waits).toEqual([500, 500, 1000, 2000, 30_000, 30_000, 30_000]);
    expect(backoff(HTTP, { ...progress, jitter: 0 })).toBe(250);
  });

  it('waits for the requested delay', () => {
    expect(backoff({ ...HTTP, retryAfterMs: 7000 }, progress)).toBe(7000);
    expect(backoff({ ...HTTP, retryAfterMs: 0 }, progress)).toBe(0);
  });

  it('waits 2, 4, 8, 16 and 30 s for a message that is too new, and not at all with a renewed token', () => {
    const waits = [1, 2, 3, 4, 5, 6].map((attempts) => backoff(failed('not_yet'), { ...progress, attempts }));
    expect(waits).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000]);
    for (const policy of [backoff, once]) expect(policy(failed('token_expired'), progress)).toBe(0);
  });

  it('may allow one attempt, or a few', () => {
    expect(once(HTTP, progress)).toBeUndefined();
    const policy = fixedDelay(3, 2000);
    expect([1, 2, 3].map((attempts) => policy(HTTP, { ...progress, attempts }))).toEqual([
      2000,
      2000,
      undefined,
    ]);
  });

  it('considers a call stuck when the CRM fails on it for 15 minutes while it accepts others', () => {
    const late = { attempts: 8, elapsedMs: 900_000, jitter: 0 };
    const failure = failed('http', { status: 500, locationOkMsAgo: 899_999 });
    expect(isStuck(failure, late)).toBe(true);
    expect(isStuck(failure, { ...late, attempts: 7 })).toBe(false);
    expect(isStuck(failure, { ...late, elapsedMs: 899_999 })).toBe(false);
    expect(isStuck({ ...failure, status: 429 }, late)).toBe(false);
    expect(isStuck({ ...failure, locationOkMsAgo: 900_000 }, late)).toBe(false);
    expect(isStuck(failed('http', { status: 500 }), late)).toBe(false);
  });
});
