import type { Clock } from '@footbridge/runtime/clock';

import type { LedgerEntry } from '../switchboard/send-ledger.ts';

/** The Mac that gets frames again. */
export interface RepeatTarget {
  /** Bytes that it has not read. */
  readonly unsent: number;
  writeAgain(entry: LedgerEntry): void;
}

/** Frames are written in batches of this size, so that a Mac that keeps reconnecting does not get all of them each time (T52). */
export const BATCH = 64;
export const PAUSE_MS = 50;
/** Frames are written as long as less than this is unsent. */
export const MAX_UNSENT_BYTES = 256 * 1024;

/**
 * Writes frames to a Mac again, in order, before any newer frame, and as fast as the Mac reads. Writes nothing until the first frames are
 * added. Ends when the last frame is written.
 */
export class Backlog {
  readonly #target: RepeatTarget;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #onEnd: () => void;
  readonly #ended = Promise.withResolvers<void>();
  /** Undefined until the first frames are added. */
  #entries: LedgerEntry[] | undefined;
  #isEnded = false;
  #cancelPause: (() => void) | undefined;

  constructor(target: RepeatTarget, clock: Pick<Clock, 'after'>, onEnd: () => void) {
    this.#target = target;
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /** Whether frames were added, so that more may follow them. */
  get isStarted(): boolean {
    return this.#entries !== undefined;
  }

  /** Resolves when the backlog ends. Never rejects. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  add(entries: readonly LedgerEntry[]): void {
    (this.#entries ??= []).push(...entries);
    this.write();
  }

  /** Writes the next batch, without frames that were confirmed in the meantime. Further batches follow after pauses. */
  write(): void {
    const entries = this.#entries;
    if (entries === undefined) return;
    this.#cancelPause?.();
    let left = BATCH;
    while (entries.length > 0 && left > 0 && this.#target.unsent < MAX_UNSENT_BYTES && !this.#isEnded) {
      const entry = entries.shift();
      if (entry?.isOpen !== true) continue;
      this.#target.writeAgain(entry);
      left--;
    }
    if (this.#isEnded) return;
    if (entries.length === 0) return this.end();
    this.#cancelPause = this.#clock.after(PAUSE_MS, () => this.write());
  }

  /** Writes no more frames. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cancelPause?.();
    this.#ended.resolve();
    this.#onEnd();
  }
}
