import type { Attempt } from '../../platform/retry/retry.ts';
import type { GrantKind } from './grants-sql.ts';

export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly expiresInSec: number;
  /** When the CRM issued them, by its clock; undefined when the response does not say. */
  readonly issuedAt?: number | undefined;
  /** A company's token opens no location by itself; it is exchanged for the tokens of its locations (O9). */
  readonly userType: 'Location' | 'Company';
  readonly companyId: string | null;
  readonly locationId: string | null;
  readonly approvedLocations: readonly string[];
}

export interface LocationPage {
  readonly locations: readonly string[];
  /** Where the next page begins; undefined after the last one. */
  readonly nextSkip: number | undefined;
}

/**
 * The CRM's OAuth calls. One attempt each; none rejects, and no reason holds a code or token. A failure is `invalid` (the code or
 * refresh token is no longer valid), `inactive` (the location is paused or unpaid; the same refresh token works later), `refused` (for
 * another reason, such as wrong client credentials), or `unavailable`, which alone is retryable.
 */
export interface TokenEndpoint {
  exchange(code: string): Promise<Attempt<IssuedTokens>>;
  refresh(refreshToken: string, userType: IssuedTokens['userType']): Promise<Attempt<IssuedTokens>>;
  /** Exchanges a company's token for the tokens of one of its locations. */
  mint(companyToken: string, companyId: string, locationId: string): Promise<Attempt<IssuedTokens>>;
  /** Makes a call with this access token that changes nothing. Any failure that is not retryable may mean that the CRM rejects the token. */
  tryToken(accessToken: string, kind: GrantKind, ownerId: string): Promise<Attempt<unknown>>;
  /** One page of the locations where the app is installed. */
  installedLocations(companyToken: string, companyId: string, skip: number): Promise<Attempt<LocationPage>>;
}
