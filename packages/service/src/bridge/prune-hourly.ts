import { every } from '@footbridge/runtime/clock';

import type { BridgeContext } from './context.ts';

const HOUR_MS = 3_600_000;

/** Runs `prune` every hour until the returned function is called. A failure is logged as `event`. */
export function pruneHourly(
  { clock, log }: Pick<BridgeContext, 'clock' | 'log'>,
  event: string,
  prune: () => Promise<unknown>,
): () => void {
  return every(clock, HOUR_MS, () => {
    prune().catch((error: unknown) =>
      log.warn({ event, err: error }, 'expired data not removed, next attempt in an hour'),
    );
  });
}
