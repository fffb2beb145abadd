/** What other parts and other nodes must hear of: an allowlist edited, a license suspended, a device revoked, a location reassigned, a token stored. */
export type Topic = 'keys' | 'license' | 'device' | 'location' | 'grant';

/**
 * - `announce` reaches every listener on this node before it resolves, and on other nodes within two seconds.
 * - Delivery over nodes is at least once and in order of announcement; a node that was cut off catches up by reading what it missed,
 *   or is told `*` (everything of the topic may have changed) when that is no longer known.
 * - A listener that throws does not keep the others from hearing.
 */
export interface Changes {
  announce(topic: Topic, subject: string): Promise<void>;
  listen(topic: Topic, listener: (subject: string) => void): () => void;
  close(): Promise<void>;
}
