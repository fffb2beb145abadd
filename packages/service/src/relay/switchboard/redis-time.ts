/** The assumed maximum drift between two clocks: one second in about 17 minutes. */
const MAX_DRIFT = 0.001;

/**
 * Lower and upper bounds of Redis's clock. A response that carries Redis's time was produced between sending the command and
 * reading the response. Deadlines between nodes use these bounds, so they need no synchronised clocks, and a response that was
 * read late because this process stalled does not distort them.
 */
export class RedisTime {
  readonly #monotonic: () => number;
  #earliest = -Infinity;
  #latest = Infinity;
  #at = 0;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /**
   * Records that the response to a command sent at `sentAt` carried the time `millis`. Returns by how many milliseconds, at least, the clock
   * was set forward.
   */
  observe(millis: number, sentAt: number): number {
    const now = this.#monotonic();
    const drift = (now - this.#at) * MAX_DRIFT;
    const [earliest, latest] = [millis - now, millis - sentAt];
    this.#at = now;
    this.#earliest = Math.max(this.#earliest - drift, earliest);
    const step = Math.max(0, earliest - this.#latest - drift);
    this.#latest = Math.min(this.#latest + drift, latest);
    if (this.#earliest <= this.#latest) return 0;
    // Contradicting bounds: Redis's clock was set, or another Redis took over.
    this.#earliest = earliest;
    this.#latest = latest;
    return step;
  }

  /** Returns a time that Redis's clock has reached. */
  earliest(): number {
    return this.#monotonic() + this.#earliest;
  }

  /** Returns a time that Redis's clock has not passed. */
  latest(): number {
    return this.#monotonic() + this.#latest;
  }
}
