import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { ClockGuard } from '@footbridge/runtime/clock-guard';

import type { Journal } from '../../journal/journal.ts';

const RETENTION_MS = 30 * 24 * 3600_000;
const INTERVAL_MS = 3600_000;

export interface PruningDeps {
  readonly journal: Pick<Journal, 'prune'>;
  readonly clock: Clock;
  readonly clockGuard: Pick<ClockGuard, 'mayDelete'>;
  readonly onFailure: (error: unknown) => void;
}

/** Deletes old entries now and every hour, as long as the clock is right. Returns a function that stops it. */
export function pruneHourly({ journal, clock, clockGuard, onFailure }: PruningDeps): () => void {
  let isEnded = false;
  const prune = async () => {
    try {
      // The journal may have been closed meanwhile.
      if ((await clockGuard.mayDelete()) && !isEnded) journal.prune(clock.now() - RETENTION_MS);
    } catch (error) {
      if (!isEnded) onFailure(error);
    }
  };
  void prune();
  const cancel = every(clock, INTERVAL_MS, () => void prune());
  return () => {
    isEnded = true;
    cancel();
  };
}

/** Returns the time of the newest entry, or null when there is none. */
export function newestEntry({ jobs, inbox }: Pick<Journal, 'jobs' | 'inbox'>): number | null {
  const times = [jobs.lastDeliveredAt(), inbox.lastSeenAt()].filter((time) => time !== undefined);
  return times.length === 0 ? null : Math.max(...times);
}
