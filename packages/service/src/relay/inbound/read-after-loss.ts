import type { Clock } from '@footbridge/runtime/clock';

import type { FailedAttempt, Attempt } from '../../platform/retry/retry.ts';
import { inboundRetryPolicy } from './inbound-job.ts';
import type { InboundJob } from './inbound-job.ts';

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

export interface ReadDelays {
  /** After this time, a request whose response was lost is no longer in flight. */
  readonly settleMs: number;
  /** After this time, reads see what was written. */
  readonly readLagMs: number;
}

/**
 * Reads what became of a request whose response was lost (I9). The first read waits until the request can no longer be in flight, and for
 * `waitMs` at least. Only a second read decides that there is nothing, because reads of the CRM lag behind its writes.
 */
export async function readAfterLoss<T>(
  job: Pick<InboundJob, 'pause'>,
  { settleMs, readLagMs }: ReadDelays,
  waitMs: number,
  read: () => Promise<Attempt<T>>,
  isNothing: (value: T) => boolean,
): Promise<Attempt<T>> {
  await job.pause(Math.max(settleMs, waitMs));
  const first = await read();
  if (!first.ok || !isNothing(first.value)) return first;
  await job.pause(readLagMs);
  return read();
}
