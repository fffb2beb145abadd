import type { Log } from '@footbridge/runtime/log';

import type { Redis } from '../redis/open-redis.ts';
import type { Broadcast, BroadcastTopic } from './broadcast.ts';

export interface RedisBroadcastDeps {
  readonly redis: Pick<Redis, 'publish' | 'subscribe'>;
  /** Encrypts messages: any client of Redis can read the channel. */
  readonly cipher: {
    seal(message: BroadcastMessage): Buffer;
    open(sealed: Buffer): BroadcastMessage | undefined;
  };
  readonly node: string;
  readonly log: Log;
}

export interface BroadcastMessage {
  readonly from: string;
  readonly topic: BroadcastTopic;
  readonly content: unknown;
}

const CHANNEL = 'broadcast';

/** Redis pub/sub: a node that is disconnected misses messages. */
export async function createRedisBroadcast({
  redis,
  cipher,
  node,
  log,
}: RedisBroadcastDeps): Promise<Broadcast> {
  const listeners = new Map<BroadcastTopic, Set<(content: unknown) => void>>();
  await redis.subscribe(CHANNEL, (sealed) => {
    const message = cipher.open(sealed);
    if (message === undefined || message.from === node) return;
    for (const listener of listeners.get(message.topic) ?? []) listener(message.content);
  });
  return {
    publish(topic, content) {
      redis
        .publish(CHANNEL, cipher.seal({ from: node, topic, content }))
        .catch((error: unknown) =>
          log.debug({ event: 'broadcast.message_lost', err: error, topic }, 'broadcast not published'),
        );
    },
    listen(topic, listener) {
      const known = listeners.get(topic) ?? new Set();
      listeners.set(topic, known.add(listener));
      return () => known.delete(listener);
    },
  };
}
