import { RecentCache } from '../../recent-cache.ts';
import type { RecentCalls } from './tenant-path.ts';

const KEPT = 50;
const LOCATIONS_PER_GENERATION = 10_000;
/** The calls that report a message or its status. Lookups may fail without harm. */
const COUNTED = new Set(['status', 'inbound']);

export const NO_CALLS: RecentCalls = { calls: 0, rejected: 0, lastResult: null, rejectedSince: null };

interface Call {
  readonly at: number;
  /** The HTTP status of the response, or the reason why there was none. */
  readonly result: string;
}

/** The newest calls to the CRM by location. In memory: a restart forgets them. */
export class RecentCrmCalls {
  readonly #now: () => number;
  readonly #byLocation = new RecentCache<string, Call[]>(LOCATIONS_PER_GENERATION);

  constructor(now: () => number) {
    this.#now = now;
  }

  add(locationId: string, operation: string, result: string): void {
    if (!COUNTED.has(operation)) return;
    const calls = this.#byLocation.get(locationId) ?? [];
    calls.push({ at: this.#now(), result });
    if (calls.length > KEPT) calls.shift();
    this.#byLocation.set(locationId, calls);
  }

  of(locationId: string): RecentCalls {
    const calls = this.#byLocation.get(locationId) ?? [];
    const rejected = calls.filter(isRejected);
    const lastAccepted = calls.findLastIndex((call) => !isRejected(call));
    return {
      calls: calls.length,
      rejected: rejected.length,
      lastResult: rejected.at(-1)?.result ?? null,
      rejectedSince: calls[lastAccepted + 1]?.at ?? null,
    };
  }
}

const isRejected = ({ result }: Call): boolean => !result.startsWith('2');
