import type { Clock } from '@footbridge/runtime/clock';

import { CANCELLED } from './attempt.ts';
import type { Attempt, FailedAttempt } from './attempt.ts';
import type { SignalSource } from './cancellation.ts';

export interface RetryProgress {
  /** Requests sent so far. */
  readonly attempts: number;
  readonly elapsedMs: number;
  /** Random, from 0 to 1. */
  readonly jitter: number;
}

/** A pure function: the wait in milliseconds before the next attempt, or undefined to give up. */
export type RetryPolicy = (failure: FailedAttempt, progress: RetryProgress) => number | undefined;

export interface RetryOptions<T> {
  /** Makes one attempt. */
  readonly attempt: (previous: FailedAttempt | undefined) => Promise<Attempt<T>>;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  readonly random?: () => number;
  /** Checked before each attempt and after each failure; false cancels the call. */
  readonly isWanted?: (previous: FailedAttempt | undefined) => boolean;
  /** Ends a wait early. After that, one more attempt is made if it is still wanted, and no further wait. */
  readonly cancellation?: SignalSource;
  /** Called for each retryable failure, even if the call is no longer wanted. */
  readonly onFailure?: (failure: FailedAttempt) => void;
}

/** Repeats an attempt until it succeeds, fails for good, is cancelled, or the policy gives up. Resolves with the last result. */
export async function retry<T>(options: RetryOptions<T>): Promise<Attempt<T>> {
  const { attempt, policy, clock, random = Math.random, isWanted, cancellation, onFailure } = options;
  const startedAt = clock.monotonic();
  let attempts = 0;
  let previous: FailedAttempt | undefined;
  for (;;) {
    if (isWanted?.(previous) === false) return CANCELLED;
    const result = await attempt(previous);
    if (result.ok || !result.retryable) return result;
    onFailure?.(result);
    if (isWanted?.(result) === false) return CANCELLED;
    if (result.unsent !== true) attempts++;
    const elapsedMs = clock.monotonic() - startedAt;
    const delayMs = policy(result, { attempts, elapsedMs, jitter: random() });
    if (delayMs === undefined) return result;
    if (delayMs > 0) {
      const signal = cancellation?.signal;
      if (signal?.aborted) return CANCELLED;
      await clock.sleep(delayMs, signal);
    }
    previous = result;
  }
}
