import type { UploadOutcome } from './take-upload.ts';

interface Account {
  uploads: number;
  /** What was stored when the first of these uploads began, and what came since. */
  readonly stored: Promise<number>;
  arrived: number;
}

type Bytes = AsyncIterable<Uint8Array>;

/** Uploads of a location at the same time share one account: together they keep its quota, not only each by itself. */
export class Quotas {
  readonly #limit: number;
  readonly #storedBytes: (locationId: string) => Promise<number>;
  readonly #accounts = new Map<string, Account>();

  constructor(limit: number, storedBytes: (locationId: string) => Promise<number>) {
    this.#limit = limit;
    this.#storedBytes = storedBytes;
  }

  /** Breaks the bytes off when they would pass the quota; what is refused for any reason is not held against it. */
  async within(
    locationId: string,
    bytes: Bytes,
    keep: (counted: Bytes) => Promise<UploadOutcome>,
  ): Promise<UploadOutcome> {
    const account = this.#enter(locationId);
    const upload = new CountedUpload(account, this.#limit);
    let isKept = false;
    try {
      const outcome = await keep(upload.count(bytes));
      isKept = outcome.kind === 'stored';
      return outcome;
    } catch (error) {
      if (error instanceof QuotaPassed) return { kind: 'refused', reason: 'quota' };
      throw error;
    } finally {
      if (!isKept) upload.giveBack();
      if (--account.uploads === 0) this.#accounts.delete(locationId);
    }
  }

  #enter(locationId: string): Account {
    let account = this.#accounts.get(locationId);
    if (account === undefined) {
      account = { uploads: 0, stored: this.#storedBytes(locationId), arrived: 0 };
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
    if (account.arrived >= room) throw new QuotaPassed();
    for await (const part of bytes) {
      this.#size += part.byteLength;
      account.arrived += part.byteLength;
      if (account.arrived > room) {
        // At once: another one may fit as soon as this one is out.
        this.giveBack();
        throw new QuotaPassed();
      }
      yield part;
    }
  }

  giveBack(): void {
    this.#account.arrived -= this.#size;
    this.#size = 0;
  }
}

/** Unwinds whoever stores the bytes; never seen outside of this file. */
class QuotaPassed extends Error {
  override readonly name = 'QuotaPassed';
}
