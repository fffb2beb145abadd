import type { Clock } from '@footbridge/runtime/clock';

import { Rejection } from './rejection.ts';

/** Returns a rejection for a message that is older than the limit. `writtenAt` is undefined when the webhook does not say it. */
export type CheckAge = (writtenAt: number | undefined) => Rejection | undefined;

/**
 * The CRM repeats a failed webhook for days. The age is measured against the newest time of any webhook, carried forward by the
 * monotonic clock, and against the wall clock: a message is old only when both say so. So neither a wrong clock of this machine
 * nor one webhook from the future makes messages look old; after a start, old ones pass until a newer one was seen.
 */
export function ageCheck(maxAgeMs: number, clock: Clock): CheckAge {
  /** The newest time of a webhook, less the monotonic clock at its arrival. */
  let newest = -Infinity;
  return (writtenAt) => {
    if (maxAgeMs === 0 || writtenAt === undefined) return undefined;
    newest = Math.max(newest, writtenAt - clock.monotonic());
    const ageMs = Math.min(clock.now(), newest + clock.monotonic()) - writtenAt;
    if (ageMs <= maxAgeMs) return undefined;
    return new Rejection('MESSAGE_TOO_OLD', { ageSec: Math.floor(ageMs / 1000), limitSec: maxAgeMs / 1000 });
  };
}
