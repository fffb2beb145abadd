import { createHmac } from 'node:crypto';

/**
 * The prefix of every key and channel of an installation. Two installations on one Redis, also on different database numbers, which
 * pub/sub ignores, never meet, and a node with a wrong node secret displaces no Mac.
 */
export function keyPrefix(nodeSecret: string): string {
  const hash = createHmac('sha256', nodeSecret).update('keys in Redis').digest('base64url');
  return `fb:${hash.slice(0, 8)}:`;
}

/** The prefix of versions up to 0.1, in every installation. */
export const EARLIER_PREFIX = 'footbridge:';
