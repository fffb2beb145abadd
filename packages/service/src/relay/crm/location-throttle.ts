import type { Clock } from '@footbridge/runtime/clock';

const WINDOW_MS = 10_000;
const FAILURES_TO_OPEN = 20;
const FIRST_OPEN_MS = 10_000;
const MAX_OPEN_MS = 60_000;
const PROBE_MS = 500;
const IDLE_MS = 60_000;
const SWEEP_AT = 10_000;

/**
 * Rate limiter and circuit breaker for the calls of one location: at most `max` calls in any ten seconds, none while the CRM asked us to
 * wait, and after 20 failures in a row one probe at a time until a call succeeds. A tenth of the calls is reserved for urgent ones,
 * which also go first: a thousand messages that a Mac catches up with must not delay a webhook.
 *
 * A call counts from its start until ten seconds after its response: the CRM counts it on arrival, at an unknown time in between.
 */
export class LocationThrottle {
  readonly #clock: Clock;
  readonly #max: number;
  /** End times of the latest calls: a ring buffer whose newest entry is before `#next`. */
  readonly #times: number[] = [];
  #next = 0;
  #inFlight = 0;
  readonly #urgent: (() => void)[] = [];
  readonly #ordinary: (() => void)[] = [];
  #cancelDrain = () => {};
  #pausedUntil = 0;
  #failures = 0;
  #openUntil = 0;
  #openMs = FIRST_OPEN_MS;
  #isProbing = false;
  #lastSuccess = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  /** Monotonic time of the latest successful call. */
  get lastSuccess(): number {
    return this.#lastSuccess;
  }

  /** Whether the circuit is open. */
  get isOpen(): boolean {
    return this.#failures >= FAILURES_TO_OPEN;
  }

  get queued(): number {
    return this.#urgent.length + this.#ordinary.length;
  }

  isIdle(now: number): boolean {
    const latest = this.#times.length === 0 ? 0 : Math.max(...this.#times);
    return (
      this.queued === 0 &&
      this.#inFlight === 0 &&
      this.#failures === 0 &&
      now - latest > IDLE_MS &&
      now - this.#lastSuccess > IDLE_MS
    );
  }

  /** How long the circuit stays open; 0 when a call may be sent. */
  blockedMs(): number {
    if (!this.isOpen) return 0;
    if (this.#isProbing) return PROBE_MS;
    return Math.max(0, this.#openUntil - this.#clock.monotonic());
  }

  /** To be called when a request is sent: while the circuit is open it is the only probe until it succeeds or fails. */
  begin(): void {
    if (this.isOpen) this.#isProbing = true;
  }

  /** Counts a call if the limit allows one and no queued call goes first. Call `leave` when the call ends. */
  tryEnter(isUrgent = false): boolean {
    if ((isUrgent ? this.#urgent.length : this.queued) > 0) return false;
    if (this.#roomAt(isUrgent) > this.#clock.monotonic()) return false;
    this.#inFlight++;
    return true;
  }

  /**
   * Queues a call. Resolves with true once it may be sent; it is then counted until `leave` is called. Resolves with false when
   * `signal` aborts first.
   */
  enter(isUrgent: boolean, signal?: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve(false);
      const queue = isUrgent ? this.#urgent : this.#ordinary;
      const onAbort = () => {
        const index = queue.indexOf(onTurn);
        if (index >= 0) queue.splice(index, 1);
        resolve(false);
      };
      const onTurn = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve(true);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      queue.push(onTurn);
      this.#drain();
    });
  }

  /** Call when a counted call has its response or will not be sent. */
  leave(): void {
    this.#inFlight--;
    this.#times[this.#next] = this.#clock.monotonic();
    this.#next = (this.#next + 1) % this.#max;
    this.#drain();
  }

  /** The CRM asks this location to wait. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms);
  }

  succeeded(): void {
    this.#lastSuccess = this.#clock.monotonic();
    if (this.#failures > 0) this.#close();
  }

  /** The CRM rejected the call, so it is reachable. */
  answered(): void {
    if (this.#failures > 0) this.#close();
  }

  failed(): void {
    this.#failures++;
    if (!this.isOpen) return;
    if (this.#isProbing) this.#openMs = Math.min(this.#openMs * 2, MAX_OPEN_MS);
    this.#isProbing = false;
    this.#openUntil = this.#clock.monotonic() + this.#openMs;
  }

  #close(): void {
    this.#failures = 0;
    this.#isProbing = false;
    this.#openUntil = 0;
    this.#openMs = FIRST_OPEN_MS;
  }

  /** Returns when the limit allows one more call, or Infinity while that depends on a call in flight. */
  #roomAt(isUrgent: boolean): number {
    const limit = isUrgent ? this.#max : this.#max - Math.floor(this.#max / 10);
    const free = limit - this.#inFlight;
    if (free <= 0) return Number.POSITIVE_INFINITY;
    const oldest = this.#times[(this.#next - free + this.#max) % this.#max] ?? Number.NEGATIVE_INFINITY;
    return Math.max(oldest + WINDOW_MS, this.#pausedUntil);
  }

  #drain(): void {
    this.#cancelDrain();
    while (this.queued > 0) {
      const isUrgent = this.#urgent.length > 0;
      const waitMs = this.#roomAt(isUrgent) - this.#clock.monotonic();
      if (waitMs === Number.POSITIVE_INFINITY) return;
      if (waitMs > 0) {
        this.#cancelDrain = this.#clock.after(Math.ceil(waitMs), () => this.#drain());
        return;
      }
      this.#inFlight++;
      (isUrgent ? this.#urgent : this.#ordinary).shift()?.();
    }
  }
}

/** One throttle per location, dropped when idle. */
export class LocationThrottles {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #throttles = new Map<string, LocationThrottle>();
  #sweepAt = SWEEP_AT;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  /** The number of locations whose circuit is open. */
  get open(): number {
    return this.#throttles.values().reduce((sum, { isOpen }) => sum + Number(isOpen), 0);
  }

  of(locationId: string): LocationThrottle {
    const known = this.#throttles.get(locationId);
    if (known !== undefined) return known;
    if (this.#throttles.size >= this.#sweepAt) this.#sweep();
    const throttle = new LocationThrottle(this.#clock, this.#max);
    this.#throttles.set(locationId, throttle);
    return throttle;
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const [locationId, throttle] of this.#throttles)
      if (throttle.isIdle(now)) this.#throttles.delete(locationId);
    this.#sweepAt = Math.max(SWEEP_AT, this.#throttles.size * 2);
  }
}
