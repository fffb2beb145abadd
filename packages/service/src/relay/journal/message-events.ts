import type { JournalEvent } from './journal.ts';

/**
 * The live events of all nodes, for the operator.
 *
 * - `follow` calls the listener for the kept events after `lastId`, then for every new one, until the returned function is called. Without
 *   `lastId` it calls the listener for new events only. Events come in the order of their ids; the events of one node keep their order.
 * - An id is valid on every node: a client that reconnects to another node continues there.
 * - `gap` stands in for events that were lost or are no longer kept; the number of kept events is bounded.
 * - While the engine is down there are no events. Kept events arrive when the engine is back.
 * - `follow` never rejects, and the listener must not throw.
 */
export interface MessageEvents {
  follow(lastId: string | undefined, listener: (event: JournalEvent | 'gap') => void): Promise<() => void>;
  close(): Promise<void>;
}
