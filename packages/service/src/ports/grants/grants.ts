/** A location's own grant, or that of a company whose locations' grants are made from it (O9). */
export type GrantKind = 'location' | 'company';

export interface Tokens {
  readonly accessToken: string;
  /** Null when the CRM gave none: the grant then lives until the access token expires, or is made anew from its company's. */
  readonly refreshToken: string | null;
  readonly expiresAt: number;
}

export type GrantState = 'active' | 'reauth_required';

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

/** A grant that cannot be decrypted reads as `reauth_required` with empty tokens. */
export interface Grant extends GrantView, Tokens {}

export interface NewGrant extends Tokens {
  readonly kind: GrantKind;
  readonly ownerId: string;
  readonly companyId: string | null;
}

/** Puts the new tokens of a refresh in the place of the ones that were read. Resolves once they are on disk. */
export type Commit = (tokens: Tokens) => Promise<Grant>;

/**
 * OAuth grants and private integration tokens at rest. Tokens are encrypted and bound to their row (O6).
 *
 * - `store` puts a new authorisation in place of whatever was there.
 * - `exclusively` runs `work` with the grant as it is stored at that moment, one at a time per grant over all processes that share the
 *   database: a refresh token works once. What `commit` was given is on disk when `exclusively` resolves. Undefined when there is no such grant.
 * - `note` records a failure, unless the grant was refreshed since it was read.
 * - Rejects with EngineError when the database is away.
 */
export interface Grants {
  find(kind: GrantKind, ownerId: string): Promise<Grant | undefined>;
  store(grant: NewGrant): Promise<Grant>;
  exclusively<T>(
    kind: GrantKind,
    ownerId: string,
    work: (grant: Grant, commit: Commit) => Promise<T>,
  ): Promise<T | undefined>;
  note(grant: GrantView, failure: { state: GrantState; lastError: string }): Promise<void>;
  list(): Promise<GrantView[]>;
  /** True when there was one. */
  remove(kind: GrantKind, ownerId: string): Promise<boolean>;

  privateToken(locationId: string): Promise<string | undefined>;
  setPrivateToken(locationId: string, token: string): Promise<void>;
  removePrivateToken(locationId: string): Promise<boolean>;
  /** Which locations have one, and since when. */
  privateTokens(): Promise<{ locationId: string; updatedAt: number }[]>;
}
