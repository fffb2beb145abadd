import type { Clock } from '@footbridge/runtime/clock';

import type { FailedAttempt } from '../../platform/retry/attempt.ts';
import { inboundRetryPolicy } from './inbound-retry-policy.ts';

/**
 * Counts the attempts of one write whose responses were lost. A read follows each attempt, and the next attempt follows a read that finds
 * nothing.
 */
export class LostAttempts {
  readonly #clock: Clock;
  readonly #startedAt: number;
  #attempts = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
  }

  /** Returns how long to wait before the next call, or undefined when it fails on this write while it accepts others (I6). */
  waitAfter(failure: FailedAttempt): number | undefined {
    const elapsedMs = this.#clock.monotonic() - this.#startedAt;
    return inboundRetryPolicy(failure, { attempts: ++this.#attempts, elapsedMs, jitter: Math.random() });
  }
}
