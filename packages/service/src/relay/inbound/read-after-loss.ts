import type { Attempt } from '../../platform/retry/attempt.ts';
import type { InboundJob } from './inbound-job.ts';

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
