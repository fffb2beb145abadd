import type { Clock } from '@footbridge/runtime/clock';

import type { Limit, Limits, Verdict } from './limits.ts';

interface Window {
  readonly endsAt: number;
  count: number;
}

const MAX_KEYS = 100_000;

/** Synchronous. */
export interface MemoryLimits extends Limits {
  take(limit: Limit, key: string): Verdict;
  peek(limit: Limit, key: string): Verdict;
  /** The number of windows in memory, over all limits. */
  readonly size: number;
}

/**
 * Counts on this node alone. All windows of a limit have the same length and a Map keeps insertion order, so the first entry
 * ends first: expired windows, and beyond the cap the oldest ones, are removed from the front.
 */
export function createMemoryLimits(
  clock: Pick<Clock, 'monotonic'>,
  maxKeys: number = MAX_KEYS,
): MemoryLimits {
  const buckets = new Map<string, Map<string, Window>>();

  function bucketOf(name: string): Map<string, Window> {
    const known = buckets.get(name);
    if (known !== undefined) return known;
    const made = new Map<string, Window>();
    buckets.set(name, made);
    return made;
  }

  function open(bucket: Map<string, Window>, key: string, endsAt: number, now: number): Window {
    bucket.delete(key);
    for (const [oldest, window] of bucket) {
      if (window.endsAt > now && bucket.size < maxKeys) break;
      bucket.delete(oldest);
    }
    const window = { endsAt, count: 0 };
    bucket.set(key, window);
    return window;
  }

  return {
    get size() {
      return buckets.values().reduce((sum, bucket) => sum + bucket.size, 0);
    },
    take(limit, key) {
      const now = clock.monotonic();
      const bucket = bucketOf(limit.name);
      const known = bucket.get(key);
      const window =
        known !== undefined && known.endsAt > now
          ? known
          : open(bucket, key, now + limit.windowSec * 1000, now);
      window.count++;
      return verdict(limit, window.count, window.count <= limit.max, window.endsAt - now);
    },
    peek(limit, key) {
      const now = clock.monotonic();
      const window = buckets.get(limit.name)?.get(key);
      if (window === undefined || window.endsAt <= now)
        return verdict(limit, 0, true, limit.windowSec * 1000);
      return verdict(limit, window.count, window.count < limit.max, window.endsAt - now);
    },
    async close() {
      buckets.clear();
    },
  };
}

function verdict(limit: Limit, count: number, allowed: boolean, leftMs: number): Verdict {
  return {
    allowed,
    limit: limit.max,
    remaining: Math.max(0, limit.max - count),
    // Rounded first: the difference of two monotonic times may exceed the window by a fraction of a microsecond.
    resetSec: Math.max(1, Math.ceil(Math.round(leftMs) / 1000)),
  };
}
