import type { Clock } from '../../clock.ts';

const WINDOW_MS = 10_000;
const FAILURES_TO_OPEN = 20;
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;
const PROBE_MS = 500;
const IDLE_MS = 60_000;
const SWEEP_AT = 10_000;

/**
 * What one location may ask of the CRM right now: at most `max` calls in any ten seconds, nothing while the CRM told us to wait,
 * and after 20 failures in a row one probe at a time until a call succeeds again. A tenth of the calls is kept for urgent ones, which
 * also go first: a thousand messages that a Mac caught up with must not make a webhook wait.
 */
export class Gate {
  readonly #clock: Clock;
  readonly #max: number;
  /** Times of the latest calls: a ring, in which the latest stands before `#next`. */
  readonly #times: number[] = [];
  #next = 0;
  readonly #urgent: (() => void)[] = [];
  readonly #ordinary: (() => void)[] = [];
  #cancelDrain = () => {};
  #pausedUntil = 0;
  #failures = 0;
  #openUntil = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #probing = false;
  #lastSuccess = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  /** Monotonic time of the latest call that went well. */
  get lastSuccess(): number {
    return this.#lastSuccess;
  }

  get isOpen(): boolean {
    return this.#failures >= FAILURES_TO_OPEN;
  }

  get queued(): number {
    return this.#urgent.length + this.#ordinary.length;
  }

  isIdle(now: number): boolean {
    const latest = this.#times.length === 0 ? 0 : Math.max(...this.#times);
    return (
      this.queued === 0 && this.#failures === 0 && now - latest > IDLE_MS && now - this.#lastSuccess > IDLE_MS
    );
  }

  /** How long the circuit keeps calls out; 0 means that one may try. */
  blockedMs(): number {
    if (!this.isOpen) return 0;
    if (this.#probing) return PROBE_MS;
    return Math.max(0, this.#openUntil - this.#clock.monotonic());
  }

  /** To be called when the request goes out: while the circuit is open it is the one probe, until it succeeded or failed. */
  begin(): void {
    if (this.isOpen) this.#probing = true;
  }

  /** Counts a call if there is room for one and nobody waits already who would go first. */
  tryEnter(isUrgent = false): boolean {
    if ((isUrgent ? this.#urgent.length : this.queued) > 0) return false;
    const now = this.#clock.monotonic();
    if (this.#roomAt(isUrgent) > now) return false;
    this.#count(now);
    return true;
  }

  /** In line behind who came first. `turn` is called when there is room for this caller, whose call then is counted. Returns how to leave the line. */
  enqueue(turn: () => void, isUrgent = false): () => void {
    const line = isUrgent ? this.#urgent : this.#ordinary;
    line.push(turn);
    this.#drain();
    return () => {
      const index = line.indexOf(turn);
      if (index >= 0) line.splice(index, 1);
    };
  }

  /** The CRM says that this location asked too much. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms);
  }

  succeeded(): void {
    this.#lastSuccess = this.#clock.monotonic();
    if (this.#failures > 0) this.#close();
  }

  /** The CRM answered, though not as wished: it is there. */
  answered(): void {
    if (this.#failures > 0) this.#close();
  }

  failed(): void {
    this.#failures++;
    if (!this.isOpen) return;
    if (this.#probing) this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    this.#probing = false;
    this.#openUntil = this.#clock.monotonic() + this.#pauseMs;
  }

  #close(): void {
    this.#failures = 0;
    this.#probing = false;
    this.#openUntil = 0;
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  /** When so few calls lie in the last ten seconds that one more may go. */
  #roomAt(isUrgent: boolean): number {
    const most = isUrgent ? this.#max : this.#max - Math.floor(this.#max / 10);
    const mostAgo = this.#times[(this.#next - most + this.#max) % this.#max] ?? Number.NEGATIVE_INFINITY;
    return Math.max(mostAgo + WINDOW_MS, this.#pausedUntil);
  }

  #count(now: number): void {
    this.#times[this.#next] = now;
    this.#next = (this.#next + 1) % this.#max;
  }

  #drain(): void {
    this.#cancelDrain();
    while (this.queued > 0) {
      const isUrgent = this.#urgent.length > 0;
      const now = this.#clock.monotonic();
      const waitMs = this.#roomAt(isUrgent) - now;
      if (waitMs > 0) {
        this.#cancelDrain = this.#clock.after(Math.ceil(waitMs), () => this.#drain());
        return;
      }
      this.#count(now);
      (isUrgent ? this.#urgent : this.#ordinary).shift()?.();
    }
  }
}

/** One gate per location, forgotten when idle. */
export class Gates {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #gates = new Map<string, Gate>();
  #sweepAt = SWEEP_AT;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  of(locationId: string): Gate {
    const known = this.#gates.get(locationId);
    if (known !== undefined) return known;
    if (this.#gates.size >= this.#sweepAt) this.#sweep();
    const gate = new Gate(this.#clock, this.#max);
    this.#gates.set(locationId, gate);
    return gate;
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const [locationId, gate] of this.#gates) if (gate.isIdle(now)) this.#gates.delete(locationId);
    this.#sweepAt = Math.max(SWEEP_AT, this.#gates.size * 2);
  }
}
