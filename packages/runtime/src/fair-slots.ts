import type { Clock } from './clock.ts';

interface Holder {
  held: number;
  /** Slot time of the past, halved every minute, at the time `usedAt`. */
  usedMs: number;
  usedAt: number;
  readonly waiting: ((release: () => void) => void)[];
}

/** A key takes at most this share of the free slots, so that a few greedy keys leave room for others. */
const SHARE_OF_FREE = 1 / 4;
const HALF_LIFE_MS = 60_000;
const FORGOTTEN_MS = 1;
const SWEEP_AT = 10_000;

/**
 * Slots that keys, such as the locations of tenants, share fairly.
 *
 * - A key takes at most a quarter of the free slots, and at least one while there is any.
 * - When a slot becomes free, the waiting key that holds the fewest is next, and among equals the one that has used the least slot
 *   time lately: a key whose work is slow delays itself first. Within a key, the order is first come, first served.
 */
export class FairSlots {
  readonly #total: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #holders = new Map<string, Holder>();
  /** The keys that have waiting work. */
  readonly #waiting = new Map<string, Holder>();
  #inUse = 0;
  #sweepAt = SWEEP_AT;

  constructor(total: number, clock: Pick<Clock, 'monotonic'>) {
    this.#total = total;
    this.#clock = clock;
  }

  get inUse(): number {
    return this.#inUse;
  }

  get waiting(): number {
    return this.#waiting.values().reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /** Calls `start` once the key has a slot, at once if possible. The returned function withdraws work that has not started. */
  enter(key: string, start: (release: () => void) => void): () => void {
    const holder = this.#holderOf(key);
    if (holder.waiting.length === 0 && this.#mayStart(holder)) {
      this.#start(holder, start);
      return () => {};
    }
    holder.waiting.push(start);
    this.#waiting.set(key, holder);
    return () => {
      const index = holder.waiting.indexOf(start);
      if (index >= 0) holder.waiting.splice(index, 1);
      if (holder.waiting.length === 0) this.#waiting.delete(key);
    };
  }

  #holderOf(key: string): Holder {
    const known = this.#holders.get(key);
    if (known !== undefined) return known;
    if (this.#holders.size >= this.#sweepAt) this.#sweep();
    const holder: Holder = { held: 0, usedMs: 0, usedAt: this.#clock.monotonic(), waiting: [] };
    this.#holders.set(key, holder);
    return holder;
  }

  #mayStart({ held }: Holder): boolean {
    return held < Math.ceil((this.#total - this.#inUse) * SHARE_OF_FREE);
  }

  #start(holder: Holder, start: (release: () => void) => void): void {
    const startedAt = this.#clock.monotonic();
    holder.held++;
    this.#inUse++;
    let isHeld = true;
    start(() => {
      if (!isHeld) return;
      isHeld = false;
      const now = this.#clock.monotonic();
      holder.usedMs = usedBy(holder, now) + now - startedAt;
      holder.usedAt = now;
      holder.held--;
      this.#inUse--;
      this.#startNext();
    });
  }

  #startNext(): void {
    if (this.#waiting.size === 0) return;
    const now = this.#clock.monotonic();
    for (;;) {
      let next: { key: string; holder: Holder; usedMs: number } | undefined;
      for (const [key, holder] of this.#waiting) {
        if (!this.#mayStart(holder)) continue;
        const usedMs = usedBy(holder, now);
        const isFirst =
          next === undefined ||
          holder.held < next.holder.held ||
          (holder.held === next.holder.held && usedMs < next.usedMs);
        if (isFirst) next = { key, holder, usedMs };
      }
      if (next === undefined) return;
      const start = next.holder.waiting.shift();
      if (next.holder.waiting.length === 0) this.#waiting.delete(next.key);
      if (start !== undefined) this.#start(next.holder, start);
    }
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const [key, holder] of this.#holders)
      if (holder.held === 0 && holder.waiting.length === 0 && usedBy(holder, now) < FORGOTTEN_MS)
        this.#holders.delete(key);
    this.#sweepAt = Math.max(SWEEP_AT, this.#holders.size * 2);
  }
}

const usedBy = ({ usedMs, usedAt }: Holder, now: number) => usedMs * 2 ** ((usedAt - now) / HALF_LIFE_MS);
