/** The value of the `Authorization` header for one location. */
export interface Bearer {
  readonly authorization: string;
}
/** `none`: no grant. `reauth_required`: the grant was revoked. `unavailable`: the store or the token endpoint is unavailable. */
export type NoBearer = { readonly missing: 'none' | 'reauth_required' | 'unavailable' };
/** `oauth`: an OAuth token only. `any`: a private integration token where OAuth is not configured. */
export type BearerKind = 'oauth' | 'any';

/** The tokens for calls to the CRM, per location. */
export interface CrmTokens {
  bearer(locationId: string, kind: BearerKind): Promise<Bearer | NoBearer>;
  /** For a token that the CRM rejected. */
  renew(locationId: string, kind: BearerKind, rejected: Bearer): Promise<Bearer | NoBearer>;
}

/** Why tokens are unreadable, and what to do. */
export const UNREADABLE_TOKENS = {
  sentence: 'The tokens were encrypted with a key that is not in CRM_OAUTH_ENCRYPTION_KEY.',
  actions: {
    grant:
      'Add the former key after the present one in CRM_OAUTH_ENCRYPTION_KEY and restart the service. If it is lost, install the app again.',
    private:
      'Add the former key after the present one in CRM_OAUTH_ENCRYPTION_KEY and restart the service. If it is lost, set the private integration token again.',
  },
} as const;

/** The grant of a location at the CRM, without its tokens. */
export interface LocationGrant {
  /** The location. */
  readonly ownerId: string;
  readonly state: string;
  readonly expiresAt: number;
  readonly lastError: string | null;
}

export type PrivateTokenState = 'private' | 'unreadable' | 'ambiguous' | 'none';

/** What the CRM granted to locations, as far as others need to know. */
export interface CrmGrants {
  /** Lists the locations that have a grant: all in any order, or a page in the order of the database. */
  listLocationIds(page?: { readonly after: string; readonly limit: number }): Promise<string[]>;
  /** Lists the grants of these locations, in any order. */
  ofLocations(locationIds: readonly string[]): Promise<readonly LocationGrant[]>;
  /** Resolves with a function that returns which private integration token serves a location without a grant. */
  privateTokens(): Promise<(locationId: string) => PrivateTokenState>;
  /** Whether there are tokens of a location. */
  has(locationId: string): Promise<boolean>;
  /** Deletes the tokens of a location on all nodes. */
  remove(locationId: string): Promise<void>;
}

export const NO_GRANTS: CrmGrants = {
  listLocationIds: async () => [],
  ofLocations: async () => [],
  privateTokens: async () => () => 'none',
  has: async () => false,
  remove: async () => {},
};
