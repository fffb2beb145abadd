/** The topics and their messages. */
export type BroadcastTopic = 'captured';

/**
 * Messages from one node to all others.
 *
 * - `publish` returns immediately and never throws. Delivery is at most once, and never to the sending node.
 * - A message is encrypted on its way and is not stored.
 * - `listen` calls the listener until the returned function is called. The listener must not throw.
 */
export interface Broadcast {
  publish(topic: BroadcastTopic, content: unknown): void;
  listen(topic: BroadcastTopic, listener: (content: unknown) => void): () => void;
}
