export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly expiresInSec: number;
  /** A company's token opens no location by itself; it buys tokens for them (O9). */
  readonly userType: 'Location' | 'Company';
  readonly companyId: string | null;
  readonly locationId: string | null;
  readonly approvedLocations: readonly string[];
}

export type TokenOutcome =
  | { readonly kind: 'issued'; readonly tokens: IssuedTokens }
  /** The code or the refresh token is worth nothing (any more). */
  | { readonly kind: 'invalid'; readonly reason: string }
  /** The location is paused or unpaid. The same refresh token works once it is active again. */
  | { readonly kind: 'inactive'; readonly reason: string }
  /** The request is refused for another cause, for example wrong client credentials. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** No answer, or one that says nothing about the grant. */
  | { readonly kind: 'away'; readonly reason: string };

/** The CRM's OAuth calls. Each is made once; none of them rejects, and no reason holds a code or token. */
export interface TokenEndpoint {
  exchange(code: string): Promise<TokenOutcome>;
  refresh(refreshToken: string, userType: IssuedTokens['userType']): Promise<TokenOutcome>;
  /** A location's tokens for a company's. */
  mint(companyToken: string, companyId: string, locationId: string): Promise<TokenOutcome>;
  /** Where the app is installed; undefined when the CRM does not say. */
  installedLocations(companyToken: string, companyId: string): Promise<string[] | undefined>;
}
