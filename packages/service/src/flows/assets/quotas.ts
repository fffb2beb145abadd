interface Account {
  uploads: number;
  /** Bytes stored when the first of these uploads began. */
  readonly stored: Promise<number>;
  /** Bytes received since then. */
  received: number;
}

type Bytes = AsyncIterable<Uint8Array>;

/** Concurrent uploads of a location share one account, so that together they stay within its quota. */
export class Quotas {
  readonly #limit: number;
  readonly #storedBytes: (locationId: string) => Promise<number>;
  readonly #accounts = new Map<string, Account>();

  constructor(limit: number, storedBytes: (locationId: string) => Promise<number>) {
    this.#limit = limit;
    this.#storedBytes = storedBytes;
  }

  /** Stops reading when the bytes exceed the quota. A rejected upload does not count towards it. */
  async within<Outcome extends { readonly kind: string }>(
    locationId: string,
    bytes: Bytes,
    store: (counted: Bytes) => Promise<Outcome>,
  ): Promise<Outcome | { readonly kind: 'rejected'; readonly reason: 'quota' }> {
    const account = this.#enter(locationId);
    const upload = new CountedUpload(account, this.#limit);
    let isStored = false;
    try {
      const outcome = await store(upload.count(bytes));
      isStored = outcome.kind === 'stored';
      return outcome;
    } catch (error) {
      if (error instanceof QuotaExceededError) return { kind: 'rejected', reason: 'quota' };
      throw error;
    } finally {
      if (!isStored) upload.refund();
      if (--account.uploads === 0) this.#accounts.delete(locationId);
    }
  }

  #enter(locationId: string): Account {
    let account = this.#accounts.get(locationId);
    if (account === undefined) {
      account = { uploads: 0, stored: this.#storedBytes(locationId), received: 0 };
      this.#accounts.set(locationId, account);
    }
    account.uploads++;
    return account;
  }
}

class CountedUpload {
  #size = 0;
  readonly #account: Account;
  readonly #limit: number;

  constructor(account: Account, limit: number) {
    this.#account = account;
    this.#limit = limit;
  }

  async *count(bytes: Bytes): AsyncGenerator<Uint8Array> {
    const account = this.#account;
    const room = this.#limit - (await account.stored);
    if (account.received >= room) throw new QuotaExceededError();
    for await (const part of bytes) {
      this.#size += part.byteLength;
      account.received += part.byteLength;
      if (account.received > room) {
        // Immediately: a concurrent upload may fit now.
        this.refund();
        throw new QuotaExceededError();
      }
      yield part;
    }
  }

  refund(): void {
    this.#account.received -= this.#size;
    this.#size = 0;
  }
}

/** Stops the consumer of the bytes; `within` turns it into an outcome. */
class QuotaExceededError extends Error {
  override readonly name = 'QuotaExceededError';
}
