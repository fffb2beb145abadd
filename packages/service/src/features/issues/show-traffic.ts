import { nextTurn } from '../../platform/batcher.ts';
import { RecentCache } from '../../platform/recent-cache.ts';
import type { MessageCount } from '../../relay/journal/journal.ts';
import type { Journal } from '../../relay/journal/journal-sql.ts';
import { slowestHops } from './hops.ts';
import type { Hop } from './hops.ts';

export interface TrafficDeps {
  readonly journal: Pick<Journal, 'counts' | 'newest'>;
  readonly now: () => number;
}

/** Messages of one direction. */
export interface Direction {
  readonly total: number;
  readonly delivered: number;
  /** Failed, rejected or undeliverable. The others are on their way. */
  readonly failed: number;
}

export interface Bucket {
  readonly from: number;
  readonly outbound: Direction;
  readonly inbound: Direction;
}

export interface Traffic {
  /** Half hours, oldest first. */
  readonly buckets: readonly Bucket[];
  /** Failures by direction and code, the most frequent first. */
  readonly failures: readonly Pick<MessageCount, 'direction' | 'code' | 'count'>[];
  readonly hops: readonly Hop[];
}

export const BUCKET_MS = 1_800_000;
export const BUCKETS = 48;
/** Messages of these buckets may still change their state. */
const OPEN_BUCKETS = 2;
const SAMPLE = 500;
const FRESH_MS = 5000;
const MAX_LATEST = 100;
const FAILED = new Set(['failed', 'rejected', 'undeliverable']);

/** The messages of the last 24 hours, in numbers. */
export class TrafficOverview {
  readonly #deps: TrafficDeps;
  /** The counts of buckets whose messages are settled, by their start. Only for all locations together. */
  readonly #settled = new Map<number, readonly MessageCount[]>();
  /** By the locations of a token. */
  readonly #latest = new RecentCache<string, { readonly at: number; readonly traffic: Promise<Traffic> }>(
    MAX_LATEST,
  );

  constructor(deps: TrafficDeps) {
    this.#deps = deps;
  }

  /** Resolves with the traffic of these locations; undefined: all of them. It may be a few seconds old. */
  show(locationIds: readonly string[] | undefined): Promise<Traffic> {
    const key = JSON.stringify(locationIds?.toSorted() ?? null);
    const at = this.#deps.now();
    const known = this.#latest.get(key);
    if (known !== undefined && at - known.at < FRESH_MS) return known.traffic;
    const latest = { at, traffic: this.#read(locationIds) };
    this.#latest.set(key, latest);
    latest.traffic.catch(() => {
      if (this.#latest.get(key) === latest) this.#latest.delete(key);
    });
    return latest.traffic;
  }

  async #read(locationIds: readonly string[] | undefined): Promise<Traffic> {
    const { journal, now } = this.#deps;
    const until = (Math.floor(now() / BUCKET_MS) + 1) * BUCKET_MS;
    const from = until - BUCKETS * BUCKET_MS;
    const counts =
      locationIds === undefined
        ? await this.#countAll(from)
        : await journal.counts({ locationIds, from, until, bucketMs: BUCKET_MS });
    const byStart = Map.groupBy(counts, (one) => one.from);
    return {
      buckets: Array.from({ length: BUCKETS }, (_, index) => {
        const start = from + index * BUCKET_MS;
        const own = byStart.get(start) ?? [];
        return { from: start, outbound: directionOf(own, 'outbound'), inbound: directionOf(own, 'inbound') };
      }),
      failures: failuresOf(counts),
      hops: slowestHops(await journal.newest({ locationIds, limit: SAMPLE })),
    };
  }

  /** Counts the messages of all locations. Settled buckets are counted once and kept. */
  async #countAll(first: number): Promise<MessageCount[]> {
    for (const start of this.#settled.keys()) if (start < first) this.#settled.delete(start);
    const counts: MessageCount[] = [];
    for (let index = 0; index < BUCKETS; index++) {
      const from = first + index * BUCKET_MS;
      const known = this.#settled.get(from);
      const until = from + BUCKET_MS;
      const read = known ?? (await this.#deps.journal.counts({ from, until, bucketMs: BUCKET_MS }));
      if (index < BUCKETS - OPEN_BUCKETS) this.#settled.set(from, read);
      // SQLite runs in this process: webhooks are served between two buckets.
      if (known === undefined) await nextTurn();
      counts.push(...read);
    }
    return counts;
  }
}

function directionOf(counts: readonly MessageCount[], direction: MessageCount['direction']): Direction {
  const own = counts.filter((one) => one.direction === direction);
  return {
    total: sum(own),
    delivered: sum(own.filter(({ state }) => state === 'delivered')),
    failed: sum(own.filter(({ state }) => FAILED.has(state))),
  };
}

function failuresOf(counts: readonly MessageCount[]): Traffic['failures'] {
  const failed = counts.filter(({ state }) => FAILED.has(state));
  return Array.from(
    Map.groupBy(failed, ({ direction, code }) => `${direction} ${code}`).values(),
    (same) => ({
      direction: same[0]?.direction ?? 'outbound',
      code: same[0]?.code ?? null,
      count: sum(same),
    }),
  ).toSorted((one, other) => other.count - one.count);
}

const sum = (counts: readonly MessageCount[]) => counts.reduce((total, { count }) => total + count, 0);
