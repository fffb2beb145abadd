const MINUTE_MS = 60_000;

/** Lets at most so many through in any minute. */
export class Pace {
  readonly #perMinute: number;
  #starts: number[] = [];

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** Takes the next free place and says how long to wait for it. */
  reserve(now: number): number {
    this.#starts = this.#starts.filter((start) => start > now - MINUTE_MS);
    const oldest = this.#starts.at(-this.#perMinute);
    const start = oldest === undefined ? now : Math.max(now, oldest + MINUTE_MS);
    this.#starts.push(start);
    return start - now;
  }
}
