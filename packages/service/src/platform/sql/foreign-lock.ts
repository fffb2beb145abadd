import { setTimeout as sleep } from 'node:timers/promises';

const PROBE_MS = 10;
/** Longer than any program of ours holds the lock. */
const REPORTED_AFTER_MS = 1000;
/** After this time the waiting statements are attempted again, and those that have waited as long fail. */
export const MAX_WAIT_MS = 30_000;

export interface ForeignLockDeps {
  /** Whether another process holds the write lock now. Must not block. */
  readonly isHeld: () => boolean;
  /** Called once when statements have waited for a second, and once when they continue after that. */
  readonly onWaiting: (state: 'locked' | 'unlocked', waitedMs: number) => void;
}

/** The write lock of a SQLite file in the hands of another process. One timer probes it, however many statements wait. */
export class ForeignLock {
  readonly #deps: ForeignLockDeps;
  #released: Promise<void> | undefined;

  constructor(deps: ForeignLockDeps) {
    this.#deps = deps;
  }

  /** Undefined while no statement waits. Never rejects. */
  get released(): Promise<void> | undefined {
    return this.#released;
  }

  /** Resolves when the lock was released, or after MAX_WAIT_MS. */
  untilReleased(): Promise<void> {
    this.#released ??= this.#probe().finally(() => {
      this.#released = undefined;
    });
    return this.#released;
  }

  async #probe(): Promise<void> {
    const { isHeld, onWaiting } = this.#deps;
    const since = performance.now();
    const waited = () => Math.round(performance.now() - since);
    let isReported = false;
    do {
      await sleep(PROBE_MS);
      if (isReported || waited() < REPORTED_AFTER_MS) continue;
      isReported = true;
      onWaiting('locked', waited());
    } while (isHeld() && waited() < MAX_WAIT_MS);
    if (isReported) onWaiting('unlocked', waited());
  }
}
