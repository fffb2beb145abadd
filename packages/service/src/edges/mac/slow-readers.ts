/** A socket that may have bytes which the other side does not take. */
export interface Reader {
  readonly unsent: number;
  readonly flushed: number;
  /** It does not read; called once. */
  tooSlow(): void;
}

const STALLED_MS = 10_000;

/** Watches those who have unsent bytes, and only those: who takes nothing for ten seconds is given up. */
export class SlowReaders {
  readonly #watched = new Map<Reader, { flushed: number; since: number }>();

  watch(reader: Reader, now: number): void {
    if (!this.#watched.has(reader)) this.#watched.set(reader, { flushed: reader.flushed, since: now });
  }

  forget(reader: Reader): void {
    this.#watched.delete(reader);
  }

  check(now: number): void {
    for (const [reader, progress] of this.#watched) {
      if (reader.unsent === 0) {
        this.#watched.delete(reader);
      } else if (reader.flushed !== progress.flushed) {
        progress.flushed = reader.flushed;
        progress.since = now;
      } else if (now - progress.since >= STALLED_MS) {
        this.#watched.delete(reader);
        reader.tooSlow();
      }
    }
  }
}
