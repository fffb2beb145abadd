import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import { nextTurn } from '../../platform/batcher.ts';
import type { KeyedHash } from '../../relay/people/handles.ts';
import type { StoredSuppressions } from './suppressions-sql.ts';

export type Suppressions = StoredSuppressions;

export interface SuppressionFilterDeps {
  readonly stored: Suppressions;
  readonly hashes: Pick<KeyedHash, 'handle'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
}

/** 2 MB. With a million opt-outs, 2 in 1,000 other numbers are looked up in the database. */
const BITS = 2 ** 24;
const BITS_PER_ENTRY = 4;
const PAGE = 1000;
const RETRY_MS = 60_000;

/**
 * Suppressions with an in-memory Bloom filter, so that the hot path does not touch the disk: a number that is not in the filter is not
 * suppressed, and any other is looked up. Only for a single node, because it does not see changes by other nodes. Until the filter is
 * loaded, every number is looked up.
 */
export class SuppressionFilter implements Suppressions {
  readonly #deps: SuppressionFilterDeps;
  readonly #bits = new Uint8Array(BITS / 8);
  #isLoaded = false;
  #isClosed = false;
  #cancel = (): void => {};

  constructor(deps: SuppressionFilterDeps) {
    this.#deps = deps;
  }

  /** Loads the filter. Never rejects: a failed load is retried. */
  async load(): Promise<void> {
    const { stored, clock, log } = this.#deps;
    try {
      for (let page = await stored.list({ limit: PAGE }); page.length > 0;) {
        for (const { locationId, hash } of page) this.#add(locationId, hash);
        await nextTurn();
        if (this.#isClosed) return;
        page = await stored.list({ limit: PAGE, after: page.at(-1) });
      }
      this.#isLoaded = true;
    } catch (error) {
      log.warn(
        { event: 'opt_out.filter_not_loaded', err: error },
        'opt-outs not loaded, each webhook looks up its number; will retry',
      );
      if (!this.#isClosed) this.#cancel = clock.after(RETRY_MS, () => void this.load());
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  set: Suppressions['set'] = (...changes) => {
    for (const { locationId, handle, isSuppressed } of changes)
      if (isSuppressed) for (const hash of this.#deps.hashes.handle(handle)) this.#add(locationId, hash);
    return this.#deps.stored.set(...changes);
  };

  restore: Suppressions['restore'] = (entries) => {
    for (const { locationId, hash } of entries) this.#add(locationId, hash);
    return this.#deps.stored.restore(entries);
  };

  list: Suppressions['list'] = (options) => this.#deps.stored.list(options);

  async has(locationId: string, handle: string): Promise<boolean> {
    const { stored, hashes } = this.#deps;
    if (this.#isLoaded && !hashes.handle(handle).some((hash) => this.#mayHave(locationId, hash)))
      return false;
    return stored.has(locationId, handle);
  }

  #add(locationId: string, hash: string): void {
    for (const bit of bitsOf(`${locationId} ${hash}`)) {
      const byte = bit >>> 3;
      this.#bits[byte] = (this.#bits[byte] ?? 0) | (1 << (bit & 7));
    }
  }

  #mayHave(locationId: string, hash: string): boolean {
    return bitsOf(`${locationId} ${hash}`).every((bit) => ((this.#bits[bit >>> 3] ?? 0) >>> (bit & 7)) & 1);
  }
}

/** Double hashing: the positions of one entry are in arithmetic progression. */
function bitsOf(entry: string): number[] {
  const [first, step] = [fnv1a(entry, 0x811c9dc5), fnv1a(entry, 0x01234567) | 1];
  return Array.from({ length: BITS_PER_ENTRY }, (_, index) => ((first + index * step) >>> 0) % BITS);
}

function fnv1a(text: string, seed: number): number {
  let hash = seed;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
