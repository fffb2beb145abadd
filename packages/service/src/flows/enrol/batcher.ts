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
    const found = new Map<K, V>();
    for (const some of slices(keys)) {
      for (const [key, value] of await this.#load(some)) found.set(key, value);
      await nextTurn();
    }
    return found;
  }
}

/** So few that a database in this process does not keep the event loop for long. */
export const AT_ONCE = 200;

export function* slices<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += AT_ONCE) yield list.slice(from, from + AT_ONCE);
}

/** Lets everybody else have the event loop once. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
