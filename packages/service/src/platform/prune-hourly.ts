import { every } from '@footbridge/runtime/clock';

import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

const HOUR_MS = 3_600_000;

export interface PruneDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Resolves with whether expired data may be deleted: not while the clock is wrong. */
  readonly mayDelete: () => Promise<boolean>;
}

/** Runs `prune` every hour, while the clock is right, until the returned function is called. A failure is logged as `event`. */
export function pruneHourly(
  { clock, log, mayDelete }: PruneDeps,
  event: string,
  prune: () => Promise<unknown>,
): () => void {
  async function pruneOnce(): Promise<void> {
    if (await mayDelete()) await prune();
  }
  return every(clock, HOUR_MS, () => {
    pruneOnce().catch((error: unknown) =>
      log.warn({ event, err: error }, 'expired data not removed, next attempt in an hour'),
    );
  });
}
