type Cleanup = () => void | Promise<void>;

/** Runs cleanups in reverse order of registration, each once. A cleanup that throws does not stop the others. */
export class Lifecycle {
  readonly #cleanups: Cleanup[] = [];
  #closing: Promise<void> | undefined;

  add(cleanup: Cleanup): void {
    this.#cleanups.push(cleanup);
  }

  /** Idempotent. Rejects with an AggregateError when cleanups failed. */
  close(): Promise<void> {
    this.#closing ??= this.#run();
    return this.#closing;
  }

  async #run(): Promise<void> {
    const failures: unknown[] = [];
    for (let cleanup = this.#cleanups.pop(); cleanup !== undefined; cleanup = this.#cleanups.pop()) {
      try {
        await cleanup();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) {
      throw new AggregateError(failures, 'Some parts of the agent did not close cleanly');
    }
  }
}
