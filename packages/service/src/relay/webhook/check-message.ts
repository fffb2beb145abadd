import type { Clock } from '@footbridge/runtime/clock';

import { Rejection } from './rejection.ts';

/** Returns a rejection for a message that is older than the limit. `writtenAt` is undefined when the webhook has no time. */
export type CheckAge = (writtenAt: number | undefined) => Rejection | undefined;

/**
 * The CRM retries a failed webhook for days. The age is measured against the newest time of any webhook, advanced by the monotonic
 * clock, and against the wall clock; the smaller age counts. Neither a wrong clock on this machine nor one webhook from the future
 * makes messages look old; after a start, old messages pass until a newer one has arrived.
 */
export function ageCheck(maxAgeMs: number, clock: Clock): CheckAge {
  /** The newest time of a webhook, minus the monotonic clock at its arrival. */
  let newest = -Infinity;
  return (writtenAt) => {
    if (maxAgeMs === 0 || writtenAt === undefined) return undefined;
    newest = Math.max(newest, writtenAt - clock.monotonic());
    const ageMs = Math.min(clock.now(), newest + clock.monotonic()) - writtenAt;
    if (ageMs <= maxAgeMs) return undefined;
    return new Rejection('MESSAGE_TOO_OLD', { ageSec: Math.floor(ageMs / 1000), limitSec: maxAgeMs / 1000 });
  };
}
