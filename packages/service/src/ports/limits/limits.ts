/** How many requests a bucket lets through in each fixed window. */
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
 * Fixed windows per key.
 *
 * - `take` counts one request and answers whether it was within the limit. Windows are fixed: they begin with the first request of a key and end `windowSec` later.
 * - `peek` answers without counting.
 * - Memory stays bounded however many keys are made up: expired ones go, and beyond a cap the oldest go.
 * - Over several nodes the count is exact while Redis answers; while it does not, each node counts for itself. `take` never rejects.
 */
export interface Limits {
  take(limit: Limit, key: string): Promise<Verdict> | Verdict;
  peek(limit: Limit, key: string): Promise<Verdict> | Verdict;
  close(): Promise<void>;
}
