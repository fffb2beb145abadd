import { RecentCache } from '../../recent-cache.ts';
import type { RecentCalls } from './tenant-path.ts';

const KEPT = 50;
const LOCATIONS_PER_GENERATION = 10_000;
/** The calls that report a message or its status. Lookups may fail without harm. */
const COUNTED = new Set(['status', 'inbound']);

export const NO_CALLS: RecentCalls = { calls: 0, rejected: 0, lastResult: null, rejectedSince: null };

/** The calls of one location. Updated in place: one object per call would be promoted to V8's old generation. */
interface LocationCalls {
  /** A ring buffer of HTTP statuses, or the reason why there was no response. `next` is the index to write. */
  readonly results: string[];
  next: number;
  /** The time of the first rejection since the last success. */
  rejectedSince: number | null;
}

/** The newest calls to the CRM by location. In memory: a restart forgets them. */
export class RecentCrmCalls {
  readonly #now: () => number;
  readonly #byLocation = new RecentCache<string, LocationCalls>(LOCATIONS_PER_GENERATION);

  constructor(now: () => number) {
    this.#now = now;
  }

  add(locationId: string, operation: string, result: string): void {
    if (!COUNTED.has(operation)) return;
    const calls = this.#byLocation.get(locationId) ?? { results: [], next: 0, rejectedSince: null };
    calls.results[calls.next] = result;
    calls.next = (calls.next + 1) % KEPT;
    if (!isRejected(result)) calls.rejectedSince = null;
    else calls.rejectedSince ??= this.#now();
    this.#byLocation.set(locationId, calls);
  }

  of(locationId: string): RecentCalls {
    const calls = this.#byLocation.get(locationId);
    if (calls === undefined) return NO_CALLS;
    const { results, next, rejectedSince } = calls;
    const rejected = [...results.slice(next), ...results.slice(0, next)].filter(isRejected);
    return {
      calls: results.length,
      rejected: rejected.length,
      lastResult: rejected.at(-1) ?? null,
      rejectedSince,
    };
  }
}

const isRejected = (result: string): boolean => !result.startsWith('2');
