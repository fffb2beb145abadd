/**
 * What changed: the key allowlist, a license, a device, the owner of a location, a stored token, a removed token, a text capture, the messages
 * that ended a process, the data of a person (who is not named: the subject is the location), a node that runs.
 */
export const TOPICS = [
  'keys',
  'license',
  'device',
  'location',
  'grant',
  'grant_removed',
  'capture',
  'suspect',
  'person_erased',
  'node',
] as const;
export type Topic = (typeof TOPICS)[number];

/**
 * Change notices for all parts of the service on all nodes, so that caches can be invalidated.
 *
 * - `announce` calls every listener of this node before it resolves, and the listeners of other nodes within two seconds. It
 *   rejects with EngineError when other nodes cannot be notified; the listeners of this node are called nevertheless.
 * - Delivery to other nodes is at least once and in the order of announcement. A node that was disconnected from the engine
 *   catches up. When the missed notices are no longer stored, its listeners receive the subject `*`: every subject of the topic
 *   may have changed.
 * - A listener that throws does not affect the others.
 */
export interface Changes {
  announce(topic: Topic, subject: string): Promise<void>;
  listen(topic: Topic, listener: (subject: string) => void): () => void;
  close(): Promise<void>;
}
