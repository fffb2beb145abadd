import type { Clock } from './clock.ts';
import { counted } from './counted.ts';

/** What shows the right time. */
export interface TimeWitnesses {
  /** Asks another machine. Resolves with undefined when it does not say the time. */
  readonly ask: () => Promise<number | undefined>;
  /** The time of the newest row that was stored. Null: nothing is stored. */
  readonly newestRow: () => number | null | Promise<number | null>;
}

/**
 * `other_machine`: another machine has another time. Without one to ask, `step`: the clock jumped while the program ran, or `old_rows`: the
 * newest row is of another day.
 */
export type ClockVerdict =
  | { readonly agrees: true }
  | {
      readonly agrees: false;
      readonly because: 'other_machine' | 'step' | 'old_rows';
      /** How far the clock is ahead. Negative: behind. */
      readonly aheadMs: number;
    };

export interface ClockGuardDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly witnesses: TimeWitnesses;
  /** Called when the verdict changes. */
  readonly changed: (verdict: ClockVerdict) => void;
}

const DAY_MS = 86_400_000;
export const MAX_CLOCK_ERROR_MS = DAY_MS;
const CHECKED_MS = 600_000;
/** The time of a response that took longer is of no use. */
const MAX_ASK_MS = 60_000;

/**
 * Whether the clock is right enough to decide what is old: a clock that is months ahead would have everything deleted. Another machine decides.
 * Without one, the clock must not have jumped, and the newest row must be of the last day; a program that was off for months waits for a new row.
 */
export class ClockGuard {
  readonly #deps: ClockGuardDeps;
  #verdict: ClockVerdict | undefined;
  #checking: Promise<ClockVerdict> | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** Times of one moment at which the clock was believed. */
  #believed: { readonly now: number; readonly monotonic: number };

  constructor(deps: ClockGuardDeps) {
    this.#deps = deps;
    this.#believed = this.#readClocks();
  }

  /** The latest verdict. */
  get verdict(): ClockVerdict | undefined {
    return this.#verdict;
  }

  /** Resolves with whether old data may be deleted. Rejects if the newest row cannot be read. */
  async mayDelete(): Promise<boolean> {
    const { clock } = this.#deps;
    const known = this.#verdict;
    if (known !== undefined && clock.monotonic() - this.#checkedAt < CHECKED_MS && !this.#hasJumped())
      return known.agrees;
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined));
    return (await this.#checking).agrees;
  }

  async #check(): Promise<ClockVerdict> {
    const verdict = await this.#compare();
    const before = this.#verdict ?? { agrees: true };
    this.#verdict = verdict;
    this.#checkedAt = this.#deps.clock.monotonic();
    if (reasonOf(verdict) !== reasonOf(before)) this.#deps.changed(verdict);
    return verdict;
  }

  async #compare(): Promise<ClockVerdict> {
    const { clock, witnesses } = this.#deps;
    const asked = clock.monotonic();
    const said = await witnesses.ask();
    if (said !== undefined && clock.monotonic() - asked <= MAX_ASK_MS) {
      const aheadMs = clock.now() - said;
      if (Math.abs(aheadMs) > MAX_CLOCK_ERROR_MS) return { agrees: false, because: 'other_machine', aheadMs };
      this.#believed = this.#readClocks();
      return { agrees: true };
    }
    if (this.#hasJumped()) return { agrees: false, because: 'step', aheadMs: this.#jumpedBy() };
    const newest = await witnesses.newestRow();
    const aheadMs = newest === null ? 0 : clock.now() - newest;
    return Math.abs(aheadMs) > MAX_CLOCK_ERROR_MS
      ? { agrees: false, because: 'old_rows', aheadMs }
      : { agrees: true };
  }

  #readClocks(): { readonly now: number; readonly monotonic: number } {
    const { clock } = this.#deps;
    return { now: clock.now(), monotonic: clock.monotonic() };
  }

  #jumpedBy(): number {
    const { now, monotonic } = this.#readClocks();
    return now - this.#believed.now - (monotonic - this.#believed.monotonic);
  }

  #hasJumped(): boolean {
    return Math.abs(this.#jumpedBy()) > MAX_CLOCK_ERROR_MS;
  }
}

const reasonOf = (verdict: ClockVerdict) => (verdict.agrees ? undefined : verdict.because);

/** Says by how much the clock is wrong, in whole days. */
export function daysOff(aheadMs: number): string {
  const days = Math.max(1, Math.round(Math.abs(aheadMs) / DAY_MS));
  return `${counted(days, 'day')} ${aheadMs > 0 ? 'ahead' : 'behind'}`;
}
