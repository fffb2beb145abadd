import type { Log } from '@footbridge/runtime/log';

import type { Journal } from '../../journal/journal.ts';
import { pruneHourly } from './prune-journal.ts';
import type { PruningDeps } from './prune-journal.ts';

export interface UpkeepDeps extends Omit<PruningDeps, 'journal' | 'onFailure'> {
  readonly journal: Pick<Journal, 'outbox' | 'walCheckpoint' | 'prune'>;
  readonly log: Log;
  readonly intervalMs: number;
  /** Returns what the other parts report about themselves. */
  readonly health: () => Readonly<Record<string, string | number>>;
}

/** Logs the health, checkpoints the journal and deletes its old entries. Returns a function that stops it. */
export function startUpkeep({ journal, log, intervalMs, health, ...deps }: UpkeepDeps): () => void {
  const onFailure = (error: unknown): void =>
    log.error({ event: 'journal.maintenance_failed', err: error }, 'journal maintenance failed, will retry');
  const logHealth = (): void => {
    const rssMb = Math.round(process.memoryUsage.rss() / 1024 / 1024);
    log.info({ event: 'agent.health', ...health(), ...journal.outbox.counts(), rssMb }, 'health');
  };
  const ends = [
    repeat(intervalMs, logHealth, onFailure),
    repeat(intervalMs, () => journal.walCheckpoint(), onFailure),
    pruneHourly({ ...deps, journal, onFailure }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** Runs `task` at an interval. A failure, such as a full disk, does not end the interval. */
function repeat(ms: number, task: () => void, onFailure: (error: unknown) => void): () => void {
  const timer = setInterval(() => {
    try {
      task();
    } catch (error) {
      onFailure(error);
    }
  }, ms);
  timer.unref();
  return () => clearInterval(timer);
}
