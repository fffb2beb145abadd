/** The value of the `Authorization` header for one location. */
export interface Bearer {
  readonly authorization: string;
}
/** `none`: no grant. `reauth_required`: the grant was revoked. `away`: the store or the token endpoint is unavailable. */
export type NoBearer = { readonly missing: 'none' | 'reauth_required' | 'away' };
/** `oauth`: an OAuth token only. `any`: a private integration token where OAuth is not configured. */
export type BearerKind = 'oauth' | 'any';

/** The tokens for calls to the CRM, per location. */
export interface CrmTokens {
  bearer(locationId: string, kind: BearerKind): Bearer | NoBearer | Promise<Bearer | NoBearer>;
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
