import type { StoreOutcome } from './assets.ts';

/** Why a file is not stored. */
export type QuotaReason = 'quota' | 'license_quota';

/** A quota that an upload counts towards. */
export interface Quota {
  readonly reason: QuotaReason;
  /** The location or the license. */
  readonly id: string;
  readonly limit: number;
}

interface Account {
  uploads: number;
  /** Bytes of recorded files, as last read. */
  stored: Promise<number>;
  /** Bytes of the files of these uploads that are not recorded yet. */
  unrecorded: number;
}

type Bytes = AsyncIterable<Uint8Array>;

/** Stores a file unless it exceeds a quota. */
export type StoreWithin = (
  bytes: Bytes,
  store: (counted: Bytes) => Promise<StoreOutcome>,
) => Promise<StoreOutcome | { readonly stored: false; readonly reason: QuotaReason }>;

/**
 * Keeps the files of a location and of a license within their quotas: received files and converted ones. Concurrent uploads share an
 * account. The stored totals are read again for each upload, because other nodes store files too.
 */
export class Quotas {
  readonly #storedBytes: (quota: Quota) => Promise<number>;
  readonly #accounts = new Map<string, Account>();

  constructor(storedBytes: (quota: Quota) => Promise<number>) {
    this.#storedBytes = storedBytes;
  }

  /** Runs an upload that stores its files with the given function and records them before it resolves. */
  async within<Outcome>(
    quotas: readonly Quota[],
    upload: (store: StoreWithin) => Promise<Outcome>,
  ): Promise<Outcome> {
    const accounts = quotas.map((quota) => this.#enter(quota));
    let size = 0;
    const count = (bytes: number) => {
      size += bytes;
      for (const account of accounts) account.unrecorded += bytes;
    };
    const refresh = () => {
      for (const [at, quota] of quotas.entries()) this.#refresh(quota, accounts[at]);
    };
    const store: StoreWithin = async (bytes, write) => {
      const sizeBefore = size;
      const check = (stored: readonly number[]) => {
        const exceeded = quotas.find(
          ({ limit }, at) => (accounts[at]?.unrecorded ?? 0) + (stored[at] ?? 0) > limit,
        );
        if (exceeded === undefined) return;
        // Immediately: a concurrent upload may fit now.
        count(sizeBefore - size);
        throw new QuotaExceededError(exceeded.reason);
      };
      const stored = () => Promise.all(accounts.map((account) => account.stored));
      async function* counted(): Bytes {
        for await (const part of bytes) {
          const known = await stored();
          count(part.byteLength);
          check(known);
          yield part;
        }
        // Other nodes may have stored files meanwhile.
        refresh();
        check(await stored());
      }
      try {
        const outcome = await write(counted());
        if (!outcome.stored) count(sizeBefore - size);
        return outcome;
      } catch (error) {
        count(sizeBefore - size);
        if (error instanceof QuotaExceededError) return { stored: false, reason: error.reason };
        throw error;
      }
    };
    try {
      return await upload(store);
    } finally {
      count(-size);
      refresh();
      for (const quota of quotas) this.#leave(quota);
    }
  }

  #enter(quota: Quota): Account {
    const key = keyOf(quota);
    const account = this.#accounts.get(key) ?? { uploads: 0, stored: Promise.resolve(0), unrecorded: 0 };
    this.#refresh(quota, account);
    account.uploads++;
    this.#accounts.set(key, account);
    return account;
  }

  #leave(quota: Quota): void {
    const account = this.#accounts.get(keyOf(quota));
    if (account !== undefined && --account.uploads === 0) this.#accounts.delete(keyOf(quota));
  }

  #refresh(quota: Quota, account: Account | undefined): void {
    if (account === undefined) return;
    account.stored = this.#storedBytes(quota);
    // A failed read fails the uploads that await it.
    account.stored.catch(() => undefined);
  }
}

const keyOf = ({ reason, id }: Quota): string => `${reason} ${id}`;

/** Stops the consumer of the bytes; `within` turns it into an outcome. */
class QuotaExceededError extends Error {
  override readonly name = 'QuotaExceededError';
  readonly reason: QuotaReason;

  constructor(reason: QuotaReason) {
    super(reason);
    this.reason = reason;
  }
}
