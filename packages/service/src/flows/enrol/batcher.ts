/**
 * Turns many questions for one thing into few for several: what is asked within one turn of the event loop goes out as
 * one query, so a storm of Macs costs the database a handful of round trips.
 */
export class Batcher<K, V> {
  readonly #load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>;
  #waiting = new Map<K, Promise<V | undefined>>();
  #batch: Promise<ReadonlyMap<K, V>> | undefined;

  constructor(load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>) {
    this.#load = load;
  }

  ask(key: K): Promise<V | undefined> {
    const asked = this.#waiting.get(key);
    if (asked !== undefined) return asked;
    this.#batch ??= this.#nextTurn();
    const answer = this.#batch.then((found) => found.get(key));
    this.#waiting.set(key, answer);
    return answer;
  }

  async #nextTurn(): Promise<ReadonlyMap<K, V>> {
    await nextTurn();
    const keys = [...this.#waiting.keys()];
    this.#waiting = new Map();
    this.#batch = undefined;
    return await this.#load(keys);
  }
}

/** Lets everybody else have the event loop once. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
