/** A socket that may have unsent bytes because its peer does not read. */
export interface Reader {
  readonly unsent: number;
  readonly flushed: number;
  /** Called once when the peer has not read for too long. */
  tooSlow(): void;
}

const STALLED_MS = 10_000;

/** Watches sockets with unsent bytes. A socket without progress for ten seconds is reported as too slow. */
export class SlowReaders {
  readonly #watched = new Map<Reader, { flushed: number; since: number }>();

  watch(reader: Reader, now: number): void {
    if (!this.#watched.has(reader)) this.#watched.set(reader, { flushed: reader.flushed, since: now });
  }

  forget(reader: Reader): void {
    this.#watched.delete(reader);
  }

  /** The largest number of unsent bytes of one socket. */
  get maxUnsent(): number {
    return this.#watched.keys().reduce((most, { unsent }) => Math.max(most, unsent), 0);
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
