/** Runs tasks with the same key one after another, and tasks with different keys concurrently. */
export class SerialByKey<K> {
  readonly #tails = new Map<K, Promise<void>>();

  /** Calls `onError` when the task rejects; later tasks of the key run all the same. */
  run(key: K, task: () => Promise<void>, onError: (error: unknown) => void): void {
    const previous = this.#tails.get(key) ?? Promise.resolve();
    const tail = previous
      .then(task)
      .catch(onError)
      .finally(() => {
        if (this.#tails.get(key) === tail) this.#tails.delete(key);
      });
    this.#tails.set(key, tail);
  }

  /** Resolves when the tasks that were added before the call have ended. */
  async idle(): Promise<void> {
    await Promise.all(this.#tails.values());
  }
}
