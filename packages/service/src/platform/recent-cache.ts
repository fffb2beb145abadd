/**
 * A Map bounded by two generations: it keeps the last `perGeneration` entries, and at most twice as many. A full generation is
 * dropped at once, which costs less than evicting entries one by one. A stored value must not be undefined.
 */
export class RecentCache<K, V> {
  readonly #perGeneration: number;
  #current = new Map<K, V>();
  #previous = new Map<K, V>();

  constructor(perGeneration: number) {
    this.#perGeneration = perGeneration;
  }

  get(key: K): V | undefined {
    const value = this.#current.get(key);
    return value === undefined ? this.#previous.get(key) : value;
  }

  set(key: K, value: V): void {
    this.#current.set(key, value);
    if (this.#current.size < this.#perGeneration) return;
    this.#previous = this.#current;
    this.#current = new Map();
  }

  /** The newer entry of a key comes last. */
  *entries(): Generator<[K, V]> {
    yield* this.#previous;
    yield* this.#current;
  }

  deleteWhere(isDeleted: (key: K) => boolean): void {
    for (const entries of [this.#current, this.#previous])
      for (const key of entries.keys()) if (isDeleted(key)) entries.delete(key);
  }

  delete(key: K): void {
    this.#current.delete(key);
    this.#previous.delete(key);
  }
}
