import { BUCKET_MS, BUCKETS } from './show-traffic.ts';

/** How many Macs were connected in each half hour of the last day, at its end. In memory only: a restart clears it. */
export class MacHistory {
  readonly #now: () => number;
  readonly #byBucket = new Map<number, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  add(connected: number): void {
    const bucket = Math.floor(this.#now() / BUCKET_MS) * BUCKET_MS;
    this.#byBucket.set(bucket, connected);
    for (const start of this.#byBucket.keys())
      if (start <= bucket - BUCKETS * BUCKET_MS) this.#byBucket.delete(start);
  }

  /** Null: not known. */
  at(bucketStart: number): number | null {
    return this.#byBucket.get(bucketStart) ?? null;
  }
}
