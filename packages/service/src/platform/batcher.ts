import { setTimeout as sleep } from 'node:timers/promises';

/** Per key of the last query. */
const COLLECT_MS_PER_KEY = 2;

/**
 * Collects the lookups of one turn of the event loop into one query, so that many at once cost the database a few round trips. The more
 * keys the last query had, the longer the next keys are collected, up to `maxCollectMs`. Simultaneous lookups of one key share the result.
 */
export class Batcher<K, V> {
  readonly #load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>;
  readonly #maxCollectMs: number;
  #pending = new Map<K, Promise<V | undefined>>();
  #batch: Promise<ReadonlyMap<K, V>> | undefined;
  /** The earliest time of the next query, by `performance.now()`. */
  #nextAt = 0;

  constructor(load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>, maxCollectMs = 0) {
    this.#load = load;
    this.#maxCollectMs = maxCollectMs;
  }

  get(key: K): Promise<V | undefined> {
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    this.#batch ??= this.#loadPending();
    const value = this.#batch.then((found) => found.get(key));
    this.#pending.set(key, value);
    return value;
  }

  async #loadPending(): Promise<ReadonlyMap<K, V>> {
    const waitMs = this.#nextAt - performance.now();
    await (waitMs > 0 ? sleep(waitMs) : nextTurn());
    const keys = [...this.#pending.keys()];
    this.#nextAt = performance.now() + Math.min(this.#maxCollectMs, keys.length * COLLECT_MS_PER_KEY);
    this.#pending = new Map();
    this.#batch = undefined;
    const found = new Map<K, V>();
    for (const batch of batches(keys)) {
      for (const [key, value] of await this.#load(batch)) found.set(key, value);
      await nextTurn();
    }
    return found;
  }
}

/** Small enough that SQLite, which runs in this process, does not block the event loop for long. */
export const MAX_BATCH = 200;

export function* batches<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += MAX_BATCH) yield list.slice(from, from + MAX_BATCH);
}

/** Yields to the event loop once. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
