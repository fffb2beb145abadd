/** The number of requests allowed per key in each fixed window. */
export interface Limit {
  /** Short, part of the key: `webhook`, `health`, `probe`, `oauth`, `unsigned`, `activate` … */
  readonly name: string;
  readonly max: number;
  readonly windowSec: number;
}

export interface Verdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the window ends, at least 1. */
  readonly resetSec: number;
}

/**
 * A rate limiter with fixed windows per key.
 *
 * - `take` counts one request and returns whether it is within the limit. The window of a key starts with its first request and
 *   ends `windowSec` later.
 * - `peek` returns the same verdict without counting.
 * - Memory is bounded for any number of keys: expired windows are removed, and beyond a cap the oldest ones are evicted.
 * - With Redis the count is exact over all nodes. While Redis is unavailable, each node counts for itself (L6).
 * - Neither method rejects.
 */
export interface Limits {
  take(limit: Limit, key: string): Promise<Verdict> | Verdict;
  peek(limit: Limit, key: string): Promise<Verdict> | Verdict;
  close(): Promise<void>;
}
