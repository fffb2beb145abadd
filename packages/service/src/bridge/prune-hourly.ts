import { every } from '@footbridge/runtime/clock';

import type { BridgeContext } from './context.ts';

const HOUR_MS = 3_600_000;

/** Runs `prune` every hour, while the clock is right, until the returned function is called. A failure is logged as `event`. */
export function pruneHourly(
  { clock, log, mayDelete }: Pick<BridgeContext, 'clock' | 'log' | 'mayDelete'>,
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
