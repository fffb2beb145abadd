import type { StoreOutcome } from './assets.ts';

interface Account {
  uploads: number;
  /** Bytes of recorded files, as last read. */
  stored: Promise<number>;
  /** Bytes of the files of these uploads that are not recorded yet. */
  unrecorded: number;
}

type Bytes = AsyncIterable<Uint8Array>;

/** Stores a file unless it exceeds the quota. */
export type StoreWithin = (
  bytes: Bytes,
  store: (counted: Bytes) => Promise<StoreOutcome>,
) => Promise<StoreOutcome | { readonly stored: false; readonly reason: 'quota' }>;

/**
 * Keeps the files of a location within its quota: those received, those converted from them, and those of concurrent uploads, which
 * share one account. The stored total is read again for each upload, because other nodes store files too.
 */
export class Quotas {
  readonly #limit: number;
  readonly #storedBytes: (locationId: string) => Promise<number>;
  readonly #accounts = new Map<string, Account>();

  constructor(limit: number, storedBytes: (locationId: string) => Promise<number>) {
    this.#limit = limit;
    this.#storedBytes = storedBytes;
  }

  /** Runs an upload that stores its files with the given function and records them before it resolves. */
  async within<Outcome>(
    locationId: string,
    upload: (store: StoreWithin) => Promise<Outcome>,
  ): Promise<Outcome> {
    const account = this.#enter(locationId);
    let size = 0;
    const release = (bytes: number) => {
      account.unrecorded -= bytes;
      size -= bytes;
    };
    const store: StoreWithin = async (bytes, write) => {
      const sizeBefore = size;
      const add = (more: number, stored: number) => {
        size += more;
        account.unrecorded += more;
        if (account.unrecorded + stored <= this.#limit) return;
        // Immediately: a concurrent upload may fit now.
        release(size - sizeBefore);
        throw new QuotaExceededError();
      };
      const refresh = () => this.#refresh(locationId, account);
      async function* count(): Bytes {
        for await (const part of bytes) {
          add(part.byteLength, await account.stored);
          yield part;
        }
        // Other nodes may have stored files meanwhile.
        refresh();
        add(0, await account.stored);
      }
      try {
        const outcome = await write(count());
        if (!outcome.stored) release(size - sizeBefore);
        return outcome;
      } catch (error) {
        release(size - sizeBefore);
        if (error instanceof QuotaExceededError) return { stored: false, reason: 'quota' };
        throw error;
      }
    };
    try {
      return await upload(store);
    } finally {
      release(size);
      this.#refresh(locationId, account);
      if (--account.uploads === 0) this.#accounts.delete(locationId);
    }
  }

  #enter(locationId: string): Account {
    const known = this.#accounts.get(locationId);
    const account = known ?? { uploads: 0, stored: Promise.resolve(0), unrecorded: 0 };
    this.#refresh(locationId, account);
    account.uploads++;
    this.#accounts.set(locationId, account);
    return account;
  }

  #refresh(locationId: string, account: Account): void {
    account.stored = this.#storedBytes(locationId);
    // A failed read fails the uploads that await it.
    account.stored.catch(() => undefined);
  }
}

/** Stops the consumer of the bytes; `within` turns it into an outcome. */
class QuotaExceededError extends Error {
  override readonly name = 'QuotaExceededError';
}
