/** How often something happened within its window. */
export interface Occurrences {
  readonly count: number;
  /** The first one. */
  readonly since: number;
}

const MAX_SUBJECTS = 10_000;

/** Counts occurrences per subject within a time window. In memory only: a restart clears the counts. */
export class RecentOccurrences {
  readonly #now: () => number;
  readonly #windowMs: number;
  /** The current run of each subject, in the order in which the runs began. */
  readonly #bySubject = new Map<string, { count: number; since: number; last: number }>();

  constructor(now: () => number, windowMs: number) {
    this.#now = now;
    this.#windowMs = windowMs;
  }

  add(subject: string): void {
    const at = this.#now();
    const run = this.#current(subject);
    if (run !== undefined) {
      run.count++;
      run.last = at;
      return;
    }
    this.#bySubject.delete(subject);
    this.#bySubject.set(subject, { count: 1, since: at, last: at });
    if (this.#bySubject.size <= MAX_SUBJECTS) return;
    for (const oldest of this.all().keys()) {
      if (this.#bySubject.size <= MAX_SUBJECTS) break;
      this.#bySubject.delete(oldest);
    }
  }

  of(subject: string): Occurrences {
    return this.#current(subject) ?? { count: 0, since: this.#now() };
  }

  /** Returns all runs that have not ended, and removes the others. */
  all(): ReadonlyMap<string, Occurrences> {
    for (const subject of this.#bySubject.keys())
      if (this.#current(subject) === undefined) this.#bySubject.delete(subject);
    return this.#bySubject;
  }

  /** A run ends when nothing has happened for a whole window. */
  #current(subject: string) {
    const run = this.#bySubject.get(subject);
    return run !== undefined && this.#now() - run.last < this.#windowMs ? run : undefined;
  }
}
