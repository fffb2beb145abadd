import type { Broadcast } from './broadcast.ts';

/** One node: there are no others. */
export function createMemoryBroadcast(): Broadcast {
  return { publish() {}, listen: () => () => {} };
}
