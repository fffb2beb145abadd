import { hash } from 'node:crypto';

import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import { loadScript } from '../redis/open-redis.ts';
import type { Redis } from '../redis/open-redis.ts';
import type { Limit, Limits, Verdict } from './limits.ts';

const TAKE = loadScript(new URL('scripts/take.lua', import.meta.url));
const REDIS_TIMEOUT_MS = 500;
/** After a failure Redis is not called for this long. */
const RETRY_MS = 1000;

export interface RedisLimitsDeps {
  readonly redis: Pick<Redis, 'run'>;
  /** Counts on this node while Redis is unavailable (L6). */
  readonly fallback: Limits;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
}

/** Exact over all nodes, by Redis's clock. While Redis is unavailable, each node counts for itself. */
export function createRedisLimits({ redis, fallback, clock, log }: RedisLimitsDeps): Limits {
  let isDown = false;
  let retryAt = 0;

  async function count(limit: Limit, key: string, amount: 0 | 1): Promise<Verdict> {
    if (clock.monotonic() < retryAt) return countLocally(limit, key, amount);
    // One request probes Redis; the others do not wait for it.
    if (isDown) retryAt = clock.monotonic() + RETRY_MS;
    try {
      const args = [String(limit.windowSec * 1000), String(amount)];
      const [used = 0, leftMs = 0] = (await redis.run(
        TAKE,
        [keyOf(limit, key)],
        args,
        REDIS_TIMEOUT_MS,
      )) as number[];
      if (isDown) log.info({ event: 'redis.limits_shared' }, 'limits counted over all nodes again');
      isDown = false;
      retryAt = 0;
      return {
        allowed: amount === 0 ? used < limit.max : used <= limit.max,
        limit: limit.max,
        remaining: Math.max(0, limit.max - used),
        resetSec: Math.max(1, Math.ceil(leftMs / 1000)),
      };
    } catch (error) {
      if (!isDown)
        log.warn(
          { event: 'redis.limits_per_node', err: error },
          'redis unavailable, limits counted per node',
        );
      isDown = true;
      retryAt = clock.monotonic() + RETRY_MS;
      return countLocally(limit, key, amount);
    }
  }

  function countLocally(limit: Limit, key: string, amount: 0 | 1): Verdict | Promise<Verdict> {
    return amount === 0 ? fallback.peek(limit, key) : fallback.take(limit, key);
  }

  return {
    take: (limit, key) => count(limit, key, 1),
    peek: (limit, key) => count(limit, key, 0),
    close: () => fallback.close(),
  };
}

/** Keys contain a hash: it accepts any id and keeps locations and addresses unreadable in Redis. */
const keyOf = (limit: Limit, key: string) =>
  `limit:${limit.name}:{${hash('sha256', key, 'base64url').slice(0, 22)}}`;
