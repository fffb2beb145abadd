import { RecentCache } from '../../platform/recent-cache.ts';

const KEPT = 50;
const LOCATIONS_PER_GENERATION = 10_000;
/** The calls that report a message or its status. */
const REPORTS = new Set(['status', 'inbound']);
/** An inbound message is posted once its contact is known. Other lookups may fail without harm. */
const CONTACT_CALLS = new Set(['find_contact', 'create_contact']);

/** The newest calls to the CRM for a location. */
export interface RecentCalls {
  readonly calls: number;
  readonly rejected: number;
  /** The HTTP status of the newest rejected call, or the reason why there was no response. */
  readonly lastResult: string | null;
  /** The first of the rejections in a row that end the list. */
  readonly rejectedSince: number | null;
}

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
    if (!isCounted(operation, result)) return;
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

/** Of the contact calls only failures count: otherwise each rejected message would also count one successful search. */
const isCounted = (operation: string, result: string): boolean =>
  REPORTS.has(operation) || (CONTACT_CALLS.has(operation) && isRejected(result) && !isAboutContact(result));

/** Such as 404 or 422: the CRM does not have this contact, or rejects its number. Messages of others get through. */
const isAboutContact = (result: string): boolean => /^4(?!01|03|08|25|29)/.test(result);

const isRejected = (result: string): boolean => !result.startsWith('2');
