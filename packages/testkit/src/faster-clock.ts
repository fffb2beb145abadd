import { createSystemClock, sleepWith } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';

/** A clock of which the pauses and deadlines are `speed` times shorter. The wall clock is right. */
export function createFasterClock(speed: number, options: { readonly keepAlive: boolean }): Clock {
  const system = createSystemClock(options);
  const after: Clock['after'] = (ms, task) => system.after(ms / speed, task);
  return {
    now: () => system.now(),
    monotonic: () => system.monotonic() * speed,
    after,
    sleep: (ms, signal) => sleepWith(after, ms, signal),
  };
}
