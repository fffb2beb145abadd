import { createHash } from 'node:crypto';

import type { Logger } from '../../log.ts';
import { loadScript } from '../../redis/open-redis.ts';
import type { Redis } from '../../redis/open-redis.ts';
import type { Limit, Limits, Verdict } from './limits.ts';

const TAKE = loadScript(new URL('scripts/take.lua', import.meta.url));
const PATIENCE_MS = 250;

export interface RedisLimitsOptions {
  readonly redis: Pick<Redis, 'run'>;
  /** Counts while Redis is away (L6). */
  readonly alone: Limits;
  readonly log: Logger;
}

/** Exact over all nodes, by Redis's clock. While Redis does not answer, each node counts for itself. */
export function createRedisLimits({ redis, alone, log }: RedisLimitsOptions): Limits {
  let away = false;

  async function count(limit: Limit, key: string, amount: 0 | 1): Promise<Verdict> {
    try {
      const [used = 0, leftMs = 0] = (await redis.run(
        TAKE,
        [keyOf(limit, key)],
        [limit.windowSec * 1000, amount],
        PATIENCE_MS,
      )) as number[];
      if (away) log.info({}, 'limits are counted over all nodes again');
      away = false;
      return {
        allowed: amount === 0 ? used < limit.max : used <= limit.max,
        limit: limit.max,
        remaining: Math.max(0, limit.max - used),
        resetSec: Math.max(1, Math.ceil(leftMs / 1000)),
      };
    } catch (error) {
      if (!away) log.warn({ err: error }, 'Redis does not answer: limits are counted per node until it does');
      away = true;
      return amount === 0 ? alone.peek(limit, key) : alone.take(limit, key);
    }
  }

  return {
    take: (limit, key) => count(limit, key, 1),
    peek: (limit, key) => count(limit, key, 0),
    close: () => alone.close(),
  };
}

/** Keys hold a hash: ids of any length and spelling, and no location or address readable in Redis. */
const keyOf = (limit: Limit, key: string) =>
  `footbridge:limit:${limit.name}:{${createHash('sha256').update(key).digest('base64url').slice(0, 22)}}`;
