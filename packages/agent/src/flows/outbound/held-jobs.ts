/** Nothing was sent, because a limit of this line is reached. The job stays in the queue. */
export interface Held {
  readonly state: 'held';
  /** What this line has done, in words: `begun 20 new conversations in an hour`. */
  readonly limit: string;
  /** When the limit has room again. */
  readonly slotAt: number;
}

interface HeldJob {
  readonly phone: string;
  /** When the limit has room again, by the wall clock. */
  readonly slotAt: number;
  /** When the limits are checked again, by the monotonic clock. */
  readonly checkAt: number;
}

/**
 * The jobs that wait for a limit of this line. They stay queued in the journal. This list is only in memory, because the limits are
 * checked again after a restart.
 */
export class HeldJobs {
  readonly #jobs = new Map<string, HeldJob>();

  get count(): number {
    return this.#jobs.size;
  }

  hold(key: string, job: HeldJob): void {
    this.#jobs.set(key, job);
  }

  release(key: string): void {
    this.#jobs.delete(key);
  }

  has(key: string): boolean {
    return this.#jobs.has(key);
  }

  /** Whether a job must wait for its own limit, or for an earlier job to the same person, which it must not overtake. */
  blocks(key: string, phone: string | undefined, now: number): boolean {
    const own = this.#jobs.get(key);
    if (own !== undefined) return own.checkAt > now;
    return this.#all().some((job) => job.phone === phone);
  }

  nextCheckAt(): number | undefined {
    return earliest(this.#all().map(({ checkAt }) => checkAt));
  }

  nextSlotAt(): number | undefined {
    return earliest(this.#all().map(({ slotAt }) => slotAt));
  }

  #all(): HeldJob[] {
    return [...this.#jobs.values()];
  }
}

function earliest(times: readonly number[]): number | undefined {
  return times.length === 0 ? undefined : Math.min(...times);
}
