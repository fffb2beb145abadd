/** A task that has not finished. */
export interface UnfinishedTask<Item, Result> {
  readonly item: Item;
  readonly done: Promise<Result>;
}

/** Runs the tasks of one key one after another, in the order they were added; tasks of different keys run side by side. */
export class SerialByKey<Item, Result = void, Key = string> {
  readonly #unfinished = new Map<Item, Promise<Result>>();
  readonly #newest = new Map<Key, Item>();

  /** The item of the last task added under `key` that has not finished. */
  newest(key: Key): Item | undefined {
    return this.#newest.get(key);
  }

  get unfinished(): UnfinishedTask<Item, Result>[] {
    return Array.from(this.#unfinished, ([item, done]) => ({ item, done }));
  }

  /** Resolves when the tasks that were added before the call have finished, also those that failed. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#unfinished.values());
  }

  /** `item` names the task and is added once. `task` receives the result of the task before it, if there is one. */
  add(key: Key, item: Item, task: (before: Result | undefined) => Promise<Result>): Promise<Result> {
    const before = this.#newest.get(key);
    const done = this.#run(key, item, before && this.#unfinished.get(before), task);
    this.#newest.set(key, item);
    this.#unfinished.set(item, done);
    return done;
  }

  async #run(
    key: Key,
    item: Item,
    before: Promise<Result> | undefined,
    task: (before: Result | undefined) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await task(before && (await before));
    } finally {
      this.#unfinished.delete(item);
      if (this.#newest.get(key) === item) this.#newest.delete(key);
    }
  }
}
