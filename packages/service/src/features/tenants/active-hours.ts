export const HOUR_MS = 3_600_000;
const WEEK = 168;
/** Four weeks to compare with, and the current week. */
export const REMEMBERED_HOURS = 5 * WEEK;
/** With fewer weeks to compare with, no activity counts as usual. */
const MIN_WEEKS = 2;
/** Silence is unusual from this score on; for a line whose texts arrive independently, its probability is then below 1 in 100,000. */
const MIN_SCORE = 12;
/** The score must also exceed the highest earlier score by this factor: a line that had a quiet holiday may have another one. */
const MIN_RATIO = 2;
const USUAL_SHARE = 0.5;

/** The hours, counted from 1970, in which a line received a text. One bit each. */
export class ActiveHours {
  /** Undefined until the first text: the bits would be most of the memory of a silent line. */
  #bits: Uint8Array | undefined;
  #first = Infinity;
  #last = -Infinity;

  /** Hours may be added in any order. An hour that is too old is ignored. */
  add(hour: number): void {
    if (hour <= this.#last - REMEMBERED_HOURS) return;
    for (let next = Math.max(this.#last + 1, hour - REMEMBERED_HOURS + 1); next < hour; next++)
      this.#set(next, false);
    this.#set(hour, true);
    this.#last = Math.max(this.#last, hour);
    this.#first = Math.max(Math.min(this.#first, hour), this.#last - REMEMBERED_HOURS + 1);
  }

  /**
   * If silence until `hour` is unusual for this line, returns the first hour since the last active one in which a text was expected;
   * otherwise null.
   */
  unusualSilence(hour: number): number | null {
    const until = Math.min(hour, this.#last + REMEMBERED_HOURS);
    const score = this.#score(this.#last, until);
    if (score < MIN_SCORE || score < MIN_RATIO * this.#longestSilence()) return null;
    let first = this.#last + 1;
    while (first < until && this.#share(first) < USUAL_SHARE) first++;
    return first;
  }

  /** The highest score of an earlier silence. */
  #longestSilence(): number {
    let longest = 0;
    let from = this.#first;
    for (let hour = this.#first + 1; hour <= this.#last; hour++) {
      if (!this.#isActive(hour)) continue;
      longest = Math.max(longest, this.#score(from, hour));
      from = hour;
    }
    return longest;
  }

  /** Returns how surprising silence between two hours is: the negative logarithm of its probability. Nights and weekends add nothing. */
  #score(from: number, until: number): number {
    let score = 0;
    for (let hour = from + 1; hour < until; hour++) score -= Math.log(1 - this.#share(hour));
    return score;
  }

  /** The share of the other weeks in which the line was active in this hour of the week, slightly underestimated. */
  #share(hour: number): number {
    let weeks = 0;
    let active = 0;
    const newest = hour + WEEK * Math.floor((this.#last - hour) / WEEK);
    for (let same = newest; same >= this.#first; same -= WEEK) {
      if (same === hour) continue;
      weeks++;
      if (this.#isActive(same)) active++;
    }
    return weeks < MIN_WEEKS ? 0 : active / (weeks + 1);
  }

  #isActive(hour: number): boolean {
    const at = hour % REMEMBERED_HOURS;
    return (((this.#bits?.[at >> 3] ?? 0) >> (at & 7)) & 1) === 1;
  }

  #set(hour: number, isActive: boolean): void {
    const at = hour % REMEMBERED_HOURS;
    const bit = 1 << (at & 7);
    this.#bits ??= new Uint8Array(REMEMBERED_HOURS / 8);
    const byte = this.#bits[at >> 3] ?? 0;
    this.#bits[at >> 3] = isActive ? byte | bit : byte & ~bit;
  }
}
