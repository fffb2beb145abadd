/** The pause after each piece of work, in multiples of its duration. */
const PAUSE = 3;

/** Runs pieces of work in order, one at a time, in at most a quarter of the event loop's time: other requests are served in between (T54). */
export class BoundedShare {
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;

  run(work: () => void): void {
    this.#waiting.push(work);
    if (!this.#isBusy) this.#next();
  }

  #next(): void {
    const work = this.#waiting.shift();
    this.#isBusy = work !== undefined;
    if (work === undefined) return;
    const since = performance.now();
    work();
    setTimeout(() => this.#next(), PAUSE * (performance.now() - since));
  }
}

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
