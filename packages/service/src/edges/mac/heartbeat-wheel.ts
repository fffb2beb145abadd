/** Something with a pulse. `slot` belongs to the wheel. */
export interface Beating {
  slot: number;
  /** Once per interval: ask for a sign of life. */
  beat(): void;
  /** A while after each beat: was there one? */
  judge(): void;
}

const TICK_MS = 100;
const MOST_SLOTS = 150;
const FEWEST_SLOTS = 6;

/**
 * All heartbeats on one timer. Members sit in slots that come round once per interval, so that ten thousand pings are
 * spread over it instead of blocking the event loop at once.
 */
export class HeartbeatWheel<Member extends Beating> implements Iterable<Member> {
  readonly tickMs: number;
  readonly #slots: readonly Set<Member>[];
  /** A third of the interval after its beat a member is judged. */
  readonly #grace: number;
  #now = 0;
  #next = 0;
  #size = 0;

  constructor(intervalMs: number) {
    const count = Math.max(FEWEST_SLOTS, Math.min(MOST_SLOTS, Math.floor(intervalMs / TICK_MS)));
    this.tickMs = intervalMs / count;
    this.#slots = Array.from({ length: count }, () => new Set<Member>());
    this.#grace = Math.floor(count / 3);
  }

  get size(): number {
    return this.#size;
  }

  /** Slots are dealt out in turn: Macs that arrive together do not beat together. */
  add(member: Member): void {
    this.#next = (this.#next + 1) % this.#slots.length;
    member.slot = this.#next;
    this.#slots[member.slot]?.add(member);
    this.#size++;
  }

  delete(member: Member): void {
    if (this.#slots[member.slot]?.delete(member) === true) this.#size--;
  }

  /** One step; to be called every `tickMs`. */
  turn(): void {
    const count = this.#slots.length;
    this.#now = (this.#now + 1) % count;
    for (const member of this.#slots[this.#now] ?? []) member.beat();
    for (const member of this.#slots[(this.#now - this.#grace + count) % count] ?? []) member.judge();
  }

  *[Symbol.iterator](): Iterator<Member> {
    for (const slot of this.#slots) yield* slot;
  }
}
