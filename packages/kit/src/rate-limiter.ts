const MINUTE_MS = 60_000;

/** Spaces out calls so that no sliding minute contains more than a fixed number of them. */
export class RateLimiter {
  readonly #perMinute: number;
  #starts: number[] = [];

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  /** Reserves the next free slot and returns how many milliseconds to wait for it. */
  reserve(now: number): number {
    this.#starts = this.#starts.filter((start) => start > now - MINUTE_MS);
    const oldest = this.#starts.at(-this.#perMinute);
    const start = oldest === undefined ? now : Math.max(now, oldest + MINUTE_MS);
    this.#starts.push(start);
    return start - now;
  }
}
