/** The grant of a location, or of a company from which the grants of its locations are derived (O9). */
export type GrantKind = 'location' | 'company';

export interface Tokens {
  readonly accessToken: string;
  /** Null when the CRM issued none: the grant then expires with its access token, unless it can be derived again from its company's. */
  readonly refreshToken: string | null;
  readonly expiresAt: number;
}

/**
 * `expected`: the CRM announced the installation in a location of a company whose grant has not arrived yet (E2). `uninstalled`: the
 * tokens were deleted (E3). `unreadable`: it is stored as active, but no configured key decrypts its tokens.
 */
export type GrantState = StoredGrantState | 'unreadable';
export type StoredGrantState = 'expected' | 'active' | 'reauth_required' | 'uninstalled';

export interface GrantView {
  readonly kind: GrantKind;
  readonly ownerId: string;
  readonly companyId: string | null;
  readonly state: GrantState;
  readonly expiresAt: number;
  readonly refreshedAt: number;
  /** A short reason, never a token. */
  readonly lastError: string | null;
}

/** A grant that is not active may have empty tokens. */
export interface Grant extends GrantView, Tokens {}

export interface NewGrant extends Tokens {
  readonly kind: GrantKind;
  readonly ownerId: string;
  readonly companyId: string | null;
  /** When the CRM issued the tokens, by its clock; undefined when unknown. */
  readonly issuedAt?: number | undefined;
  /** Issued to the company of the location, and therefore uninstalled with it. */
  readonly isDerived?: boolean;
}

/** An announced installation or uninstallation. `at` is the CRM's time; an event without one is newer than all before it. */
export interface InstallEvent {
  readonly kind: GrantKind;
  readonly ownerId: string;
  readonly companyId: string | null;
  readonly at: number | undefined;
}

/** An uninstallation without a time was announced: the event may be late, or a copy of an earlier one. */
export interface Doubt {
  readonly kind: GrantKind;
  readonly ownerId: string;
  readonly doubtedAt: number;
}

/** The CRM refused to issue the tokens of a location to this company. */
export interface Refusal {
  readonly ownerId: string;
  readonly companyId: string;
  readonly requestedAt: number;
  /** The location is removed if its first refusal is not newer than this. */
  readonly firstUntil: number;
}

/**
 * Replaces the tokens that were read with new ones. Resolves when they are on disk, with the stored grant: another one when it changed
 * in between, undefined when it was removed.
 */
export type Commit = (tokens: Tokens & { readonly companyId?: string | null }) => Promise<Grant | undefined>;

/**
 * OAuth grants and private integration tokens at rest. Tokens are encrypted and bound to their row (O6).
 *
 * - `store` replaces any existing grant of the owner. Resolves with undefined when the app was uninstalled after the tokens were
 *   issued: then they are not stored.
 * - `expect` records the installation in a location that has no tokens yet, and `uninstall` deletes the tokens of the owner and those
 *   derived from them. Neither changes the state when a newer event is known. Both may be repeated.
 *   With `tokensOf`, `uninstall` changes nothing if the tokens are not those of that grant any more.
 * - `doubt` records an uninstallation without a time, for a grant that has tokens; `trust` ends a doubt that was not raised again.
 * - `refuse` records the first refusal of the tokens of an expected location, or removes the location if that was long enough ago.
 *   Refusals from before the location was last expected do not count. One that was expected again after the request does not change.
 * - `exclusively` runs `work` with the stored grant under a lock that all processes on the database respect, because a refresh
 *   token works once. Committed tokens are on disk when it resolves. Resolves with undefined when there is no such grant.
 * - `recordFailure` records a failure, unless the grant was refreshed after it was read.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface Grants {
  find(kind: GrantKind, ownerId: string): Promise<Grant | undefined>;
  store(grant: NewGrant): Promise<Grant | undefined>;
  /** Resolves with the grant as it is afterwards. */
  expect(event: InstallEvent): Promise<GrantView>;
  /** Resolves with the owners whose calls must stop. */
  uninstall(event: InstallEvent, tokensOf?: Grant): Promise<string[]>;
  /** Resolves with undefined when there are no tokens. */
  doubt(kind: GrantKind, ownerId: string): Promise<Doubt | undefined>;
  doubted(): Promise<Doubt[]>;
  trust(doubt: Doubt): Promise<void>;
  /** Lists the locations that were expected, or expected again, at that time or later. */
  expected(since: number): Promise<GrantView[]>;
  /** Removes the locations that were last expected before that time. Resolves with their ids. */
  removeExpectedBefore(time: number): Promise<string[]>;
  exclusively<T>(
    kind: GrantKind,
    ownerId: string,
    work: (grant: Grant, commit: Commit) => Promise<T>,
  ): Promise<T | undefined>;
  recordFailure(grant: GrantView, failure: { state: StoredGrantState; lastError: string }): Promise<void>;
  /** Lists all grants or a page of them, by kind and owner. `after`: the last grant of the page before. */
  list(page?: {
    limit: number;
    after?: { kind: GrantKind; ownerId: string } | undefined;
  }): Promise<GrantView[]>;
  /** Lists all locations that have a grant or a page of them, in the order of the database. An empty string starts at the beginning. */
  listLocationIds(page?: { limit: number; after: string }): Promise<string[]>;
  /** Lists the grants of these locations, in any order. */
  ofLocations(locationIds: readonly string[]): Promise<GrantView[]>;
  /** Resolves with true if the grant existed. */
  remove(kind: GrantKind, ownerId: string): Promise<boolean>;
  /** Resolves with true if the location was removed. */
  refuse(refusal: Refusal): Promise<boolean>;

  privateToken(locationId: string): Promise<string | undefined>;
  setPrivateToken(locationId: string, token: string): Promise<void>;
  removePrivateToken(locationId: string): Promise<boolean>;
  /**
   * Lists all locations that have a private token or a page of them, in the order of the database; an empty string starts at the
   * beginning. `isReadable`: a configured key decrypts it.
   */
  privateTokens(page?: {
    limit: number;
    after: string;
  }): Promise<{ locationId: string; updatedAt: number; isReadable: boolean }[]>;
  /** Lists the owners of active grants and of private tokens that no configured key has encrypted. */
  unreadable(): Promise<{ kind: GrantKind | 'private'; ownerId: string }[]>;
  /** Encrypts with the newest key what older keys have encrypted, so that those can be removed. */
  rotate(): Promise<{ encrypted: number; unreadable: number }>;
}
