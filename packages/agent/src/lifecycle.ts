type Undo = () => void | Promise<void>;

/** Everything that was opened, closed newest first. Closing twice is harmless; one failing undo does not stop the rest. */
export class Lifecycle {
  readonly #undos: Undo[] = [];
  #closing: Promise<void> | undefined;

  add(undo: Undo): void {
    this.#undos.push(undo);
  }

  close(): Promise<void> {
    this.#closing ??= this.#run();
    return this.#closing;
  }

  async #run(): Promise<void> {
    const failures: unknown[] = [];
    for (let undo = this.#undos.pop(); undo !== undefined; undo = this.#undos.pop()) {
      try {
        await undo();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) {
      throw new AggregateError(failures, 'Some parts of the agent did not close cleanly');
    }
  }
}
