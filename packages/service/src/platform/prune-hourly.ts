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

export interface Prune {
  readonly event: string;
  readonly prune: () => Promise<unknown>;
}

/** Runs all of them every hour, while the clock is right, until the returned function is called. */
export function pruneHourly({ clock, log, mayDelete }: PruneDeps, prunes: readonly Prune[]): () => void {
  async function pruneAll(): Promise<void> {
    if (!(await mayDelete())) return;
    for (const { event, prune } of prunes)
      await prune().catch((error: unknown) =>
        log.warn({ event, err: error }, 'expired data not removed, next attempt in an hour'),
      );
  }
  return every(clock, HOUR_MS, () => {
    pruneAll().catch((error: unknown) =>
      log.warn(
        { event: 'clock.not_compared', err: error },
        'clock not compared, expired data not removed, next attempt in an hour',
      ),
    );
  });
}
