import type { JournalEvent } from './journal.ts';

/**
 * The live events of all nodes, for the operator.
 *
 * - `follow` calls the listener for the kept events after `lastId`, then for every new one, until the returned function is called. Without
 *   `lastId` it calls it for new ones only. The order is that of the ids; the events of one node keep their order.
 * - An id is valid on every node: a client that reconnects to another node continues there.
 * - `gap` in place of an event means that some are missing here, since they are no longer kept or were lost. What is kept is bounded.
 * - While the engine is down there are no events. They arrive when it is back, as far as they were kept.
 * - `follow` never rejects, and the listener must not throw.
 */
export interface MessageEvents {
  follow(lastId: string | undefined, listener: (event: JournalEvent | 'gap') => void): Promise<() => void>;
  close(): Promise<void>;
}
