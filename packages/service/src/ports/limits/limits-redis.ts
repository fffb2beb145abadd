import { hash } from 'node:crypto';

import type { Clock } from '../../clock.ts';
import type { Logger } from '../../log.ts';
import { loadScript } from '../../redis/open-redis.ts';
import type { Redis } from '../../redis/open-redis.ts';
import type { Limit, Limits, Verdict } from './limits.ts';

const TAKE = loadScript(new URL('scripts/take.lua', import.meta.url));
const PATIENCE_MS = 500;
/** After a failure nobody else waits for Redis this long: only then it is tried again. */
const REST_MS = 1000;

export interface RedisLimitsOptions {
  readonly redis: Pick<Redis, 'run'>;
  /** Counts while Redis is away (L6). */
  readonly alone: Limits;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
}

/** Exact over all nodes, by Redis's clock. While Redis does not answer, each node counts for itself. */
export function createRedisLimits({ redis, alone, clock, log }: RedisLimitsOptions): Limits {
  let away = false;
  let restUntil = 0;

  async function count(limit: Limit, key: string, amount: 0 | 1): Promise<Verdict> {
    if (clock.monotonic() < restUntil) return countAlone(limit, key, amount);
    // One asks whether Redis is back; the others need not wait for the answer.
    if (away) restUntil = clock.monotonic() + REST_MS;
    try {
      const args = [String(limit.windowSec * 1000), String(amount)];
      const [used = 0, leftMs = 0] = (await redis.run(
        TAKE,
        [keyOf(limit, key)],
        args,
        PATIENCE_MS,
      )) as number[];
      if (away) log.info({}, 'limits are counted over all nodes again');
      away = false;
      restUntil = 0;
      return {
        allowed: amount === 0 ? used < limit.max : used <= limit.max,
        limit: limit.max,
        remaining: Math.max(0, limit.max - used),
        resetSec: Math.max(1, Math.ceil(leftMs / 1000)),
      };
    } catch (error) {
      if (!away) log.warn({ err: error }, 'Redis does not answer: limits are counted per node until it does');
      away = true;
      restUntil = clock.monotonic() + REST_MS;
      return countAlone(limit, key, amount);
    }
  }

  function countAlone(limit: Limit, key: string, amount: 0 | 1): Verdict | Promise<Verdict> {
    return amount === 0 ? alone.peek(limit, key) : alone.take(limit, key);
  }

  return {
    take: (limit, key) => count(limit, key, 1),
    peek: (limit, key) => count(limit, key, 0),
    close: () => alone.close(),
  };
}

/** Keys hold a hash: ids of any length and spelling, and no location or address readable in Redis. */
const keyOf = (limit: Limit, key: string) =>
  `footbridge:limit:${limit.name}:{${hash('sha256', key, 'base64url').slice(0, 22)}}`;
