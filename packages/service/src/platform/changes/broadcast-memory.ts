import type { Broadcast } from './broadcast.ts';

/** The engine for a single node: there is no other node to publish to. */
export function createMemoryBroadcast(): Broadcast {
  return { publish() {}, listen: () => () => {} };
}
