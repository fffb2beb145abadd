import type { SignatureFault } from './verify-signature.ts';

const HOUR_MS = 3_600_000;
/** Maximum times kept per step and header. */
const KEPT = 1000;

export interface SignatureRejections extends SignatureFault {
  /** Within the last hour, at most a thousand. */
  readonly count: number;
  readonly lastAt: number;
}

interface Group {
  /** The last times, overwritten in turn. */
  readonly times: number[];
  added: number;
  last: SignatureFault;
  lastAt: number;
}

/**
 * Signatures that this node rejected within the last hour, by step and header. In memory and bounded: there are few steps, only headers of
 * registered keys, and nothing of a request is kept except the location that it named.
 */
export class RecentRejections {
  readonly #now: () => number;
  readonly #groups: Group[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  add(fault: SignatureFault): void {
    const at = this.#now();
    const group = this.#groups.find(({ last }) => last.step === fault.step && last.header === fault.header);
    if (group === undefined) {
      this.#groups.push({ times: [at], added: 1, last: fault, lastAt: at });
      return;
    }
    group.times[group.added++ % KEPT] = at;
    group.last = fault;
    group.lastAt = at;
  }

  /** Returns the rejections of the last hour, the latest first. */
  list(): SignatureRejections[] {
    const since = this.#now() - HOUR_MS;
    return this.#groups
      .filter(({ lastAt }) => lastAt > since)
      .map(({ times, last, lastAt }) => ({ ...last, count: times.filter((at) => at > since).length, lastAt }))
      .toSorted((one, other) => other.lastAt - one.lastAt);
  }
}
