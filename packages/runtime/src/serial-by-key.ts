import { TransientMap } from './transient-map.ts';

/** A task that has not finished. */
export interface UnfinishedTask<Item, Result> {
  readonly item: Item;
  readonly done: Promise<Result>;
}

interface Task<Item, Result> {
  readonly item: Item;
  /** The preceding task of the same key. Cleared once it has finished. */
  before: Task<Item, Result> | undefined;
  /** Undefined only while `add` starts the task. */
  done: Promise<Result> | undefined;
}

/** Runs the tasks of one key one after another, in the order they were added; tasks of different keys run side by side. */
export class SerialByKey<Item, Result = void, Key = string> {
  readonly #newest = new TransientMap<Key, Task<Item, Result>>();

  /** The item of the last task added under `key` that has not finished. */
  newest(key: Key): Item | undefined {
    return this.#newest.get(key)?.item;
  }

  /** In no particular order. */
  get unfinished(): UnfinishedTask<Item, Result>[] {
    const unfinished: UnfinishedTask<Item, Result>[] = [];
    for (const newest of this.#newest.values())
      for (let task: typeof newest | undefined = newest; task !== undefined; task = task.before)
        if (task.done !== undefined) unfinished.push({ item: task.item, done: task.done });
    return unfinished;
  }

  /** Resolves when the tasks that were added before the call have finished, also those that failed. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.unfinished.map(({ done }) => done));
  }

  /** `item` names the task and is added once. `task` receives the result of the task before it, if there is one. */
  add(key: Key, item: Item, task: (before: Result | undefined) => Promise<Result>): Promise<Result> {
    const added: Task<Item, Result> = { item, before: this.#newest.get(key), done: undefined };
    this.#newest.set(key, added);
    const done = this.#run(key, added, task);
    added.done = done;
    return done;
  }

  async #run(
    key: Key,
    added: Task<Item, Result>,
    task: (before: Result | undefined) => Promise<Result>,
  ): Promise<Result> {
    try {
      const result = added.before && (await added.before.done);
      added.before = undefined;
      return await task(result);
    } finally {
      if (this.#newest.get(key) === added) this.#newest.delete(key);
    }
  }
}
