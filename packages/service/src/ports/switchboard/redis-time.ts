/** How far two clocks may drift apart, at worst: a second in a quarter of an hour. */
const DRIFT = 0.001;

/**
 * Redis's clock as seen from here, as two bounds: an answer that carries the time was given after the question was sent and before
 * the answer was read. Deadlines between nodes are kept by these bounds, so they need no agreement of the nodes' own clocks, and
 * an answer that lay unread while this node was frozen misleads nobody.
 */
export class RedisTime {
  readonly #monotonic: () => number;
  #earliest = -Infinity;
  #latest = Infinity;
  #at = 0;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** An answer to a question sent at `askedAt` says that it is `millis` over there. */
  told(millis: number, askedAt: number): void {
    const now = this.#monotonic();
    const drift = (now - this.#at) * DRIFT;
    const [earliest, latest] = [millis - now, millis - askedAt];
    this.#at = now;
    this.#earliest = Math.max(this.#earliest - drift, earliest);
    this.#latest = Math.min(this.#latest + drift, latest);
    if (this.#earliest <= this.#latest) return;
    // That clock was set, or it is another Redis now.
    this.#earliest = earliest;
    this.#latest = latest;
  }

  /** It is not earlier than this. */
  earliest(): number {
    return this.#monotonic() + this.#earliest;
  }

  /** It is not later than this. */
  latest(): number {
    return this.#monotonic() + this.#latest;
  }
}
