/** A member of the wheel. `slot` is managed by the wheel. */
export interface Beating {
  slot: number;
  /** Called once per interval: send a ping. */
  beat(): void;
  /** Called a third of an interval after each beat: check for the pong. */
  checkPong(): void;
}

const TICK_MS = 100;
const MAX_SLOTS = 150;
const MIN_SLOTS = 6;

/**
 * Runs all heartbeats on one timer. Members are spread over slots, one slot per tick, so that ten thousand pings do not
 * block the event loop at once.
 */
export class HeartbeatWheel<Member extends Beating> implements Iterable<Member> {
  readonly tickMs: number;
  readonly #slots: readonly Set<Member>[];
  /** Ticks between a beat and its check: a third of the interval. */
  readonly #grace: number;
  #now = 0;
  #next = 0;
  #size = 0;

  constructor(intervalMs: number) {
    const count = Math.max(MIN_SLOTS, Math.min(MAX_SLOTS, Math.floor(intervalMs / TICK_MS)));
    this.tickMs = intervalMs / count;
    this.#slots = Array.from({ length: count }, () => new Set<Member>());
    this.#grace = Math.floor(count / 3);
  }

  get size(): number {
    return this.#size;
  }

  /** Assigns slots round-robin: Macs that connect together are not pinged together. */
  add(member: Member): void {
    this.#next = (this.#next + 1) % this.#slots.length;
    member.slot = this.#next;
    this.#slots[member.slot]?.add(member);
    this.#size++;
  }

  delete(member: Member): void {
    if (this.#slots[member.slot]?.delete(member) === true) this.#size--;
  }

  /** Advances by one slot. The caller calls this every `tickMs`. */
  turn(): void {
    const count = this.#slots.length;
    this.#now = (this.#now + 1) % count;
    for (const member of this.#slots[this.#now] ?? []) member.beat();
    for (const member of this.#slots[(this.#now - this.#grace + count) % count] ?? []) member.checkPong();
  }

  *[Symbol.iterator](): Iterator<Member> {
    for (const slot of this.#slots) yield* slot;
  }
}
