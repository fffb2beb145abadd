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
  readonly times: number[];
  last: SignatureFault;
}

/**
 * Signatures that this node rejected within the last hour, by step and header. In memory and bounded: there are few steps, only headers of
 * registered keys, and nothing of a request is kept except the location that it named.
 */
export class RecentRejections {
  readonly #now: () => number;
  readonly #groups = new Map<string, Group>();

  constructor(now: () => number) {
    this.#now = now;
  }

  add(fault: SignatureFault): void {
    const name = `${fault.step} ${fault.header ?? ''}`;
    const group = this.#groups.get(name) ?? { times: [], last: fault };
    group.times.push(this.#now());
    group.last = fault;
    if (group.times.length > KEPT) group.times.shift();
    this.#groups.set(name, group);
  }

  /** Returns the rejections of the last hour, the latest first. */
  list(): SignatureRejections[] {
    const since = this.#now() - HOUR_MS;
    return [...this.#groups.values()]
      .flatMap(({ times, last }) => {
        const recent = times.filter((at) => at > since);
        const lastAt = recent.at(-1);
        return lastAt === undefined ? [] : [{ ...last, count: recent.length, lastAt }];
      })
      .toSorted((one, other) => other.lastAt - one.lastAt);
  }
}
