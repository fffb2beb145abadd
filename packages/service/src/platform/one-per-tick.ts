/** Resolves one waiting caller per tick of the event loop, in order, so that other work runs in between. */
export class OnePerTick {
  #waiting: (() => void)[] = [];

  turn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#next());
    });
  }

  #next(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(() => this.#next());
  }
}
