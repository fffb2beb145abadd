import { randomBytes, randomUUID } from 'node:crypto';
import { parseBearerToken } from '@footbridge/protocol/bearer-token';
import { fixedRsaKey, signBody } from '../keys.ts';
import { compact, newId } from './values.ts';
import type { CrmSettings, Install, TokenResponse } from './types.ts';

/** One installation of the app, in a location or in a company for several of its locations. */
interface Grant {
  readonly id: string;
  readonly userType: 'Location' | 'Company';
  readonly companyId: string;
  readonly locationId: string | undefined;
  readonly locations: string[];
  readonly scopes: readonly string[];
  readonly userId: string;
  revoked: boolean;
}

/** What an access token grants. */
export interface TokenIdentity {
  readonly kind: 'oauth' | 'pit';
  readonly userType: 'Location' | 'Company';
  readonly companyId: string | undefined;
  readonly locationId: string | undefined;
  readonly locations: readonly string[];
  readonly scopes: readonly string[] | 'all';
}

/** The current state of the token in an Authorization header. */
export type TokenCheck =
  | { state: 'valid'; identity: TokenIdentity }
  | { state: 'expired'; identity: TokenIdentity }
  | { state: 'unknown'; identity: TokenIdentity | undefined };

export type RefreshResult =
  | { ok: true; tokens: TokenResponse }
  | { ok: false; reason: 'invalid' | 'inactive' };

export const ALL_SCOPES: readonly string[] = [
  'conversations.readonly',
  'conversations.write',
  'conversations/message.readonly',
  'conversations/message.write',
  'contacts.readonly',
  'contacts.write',
  'oauth.readonly',
  'oauth.write',
];

/** Authorization codes, tokens and grants. Codes and refresh tokens are single-use. */
export class Grants {
  readonly #settings: CrmSettings;
  readonly #now: () => number;
  readonly #companies = new Map<string, string>();
  readonly #codes = new Map<string, Grant>();
  readonly #access = new Map<string, { grant: Grant; expiresAt: number }>();
  readonly #refresh = new Map<string, Grant>();
  readonly #pits = new Map<string, string>();
  readonly #inactive = new Set<string>();
  readonly #grants: Grant[] = [];

  constructor(settings: CrmSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
  }

  install(what: Install): string {
    const code = randomBytes(20).toString('hex');
    this.#codes.set(code, this.#grantFor(what));
    return code;
  }

  /** Adds a location to the company's installation: its agency chose future sub-accounts too. */
  addLocation(companyId: string, locationId: string): void {
    for (const grant of this.#grants)
      if (
        grant.userType === 'Company' &&
        grant.companyId === companyId &&
        !grant.locations.includes(locationId)
      )
        grant.locations.push(locationId);
  }

  exchange(code: string): TokenResponse | undefined {
    const grant = this.#codes.get(code);
    if (!grant || grant.revoked) return undefined;
    this.#codes.delete(code);
    return this.#issue(grant);
  }

  hasCode(code: string): boolean {
    return this.#codes.has(code);
  }

  refresh(refreshToken: string): RefreshResult {
    const grant = this.#refresh.get(refreshToken);
    if (!grant || grant.revoked) return { ok: false, reason: 'invalid' };
    // The refresh token stays valid, so that it works again once the location is active.
    if (this.#inactive.has(grant.locationId ?? grant.companyId)) return { ok: false, reason: 'inactive' };
    this.#refresh.delete(refreshToken);
    return { ok: true, tokens: this.#issue(grant) };
  }

  /** Exchanges a company token for a location token. Returns undefined if the app is not installed in the location. */
  mintLocation(company: TokenIdentity, companyId: string, locationId: string): TokenResponse | undefined {
    if (company.companyId !== companyId || !company.locations.includes(locationId)) return undefined;
    const scopes = company.scopes === 'all' ? ALL_SCOPES : company.scopes;
    const grant = this.#grantFor({
      locationId,
      companyId,
      scopes: [...new Set([...scopes, 'oauth.readonly', 'oauth.write'])],
    });
    return this.#issue(grant);
  }

  pit(locationId: string): string {
    const token = `pit-${randomUUID()}`;
    this.#pits.set(token, locationId);
    return token;
  }

  check(authorization: string | undefined): TokenCheck {
    const token = parseBearerToken(authorization) ?? '';
    const pitLocation = this.#pits.get(token);
    if (pitLocation !== undefined) return { state: 'valid', identity: pitIdentity(pitLocation) };
    const access = this.#access.get(token);
    if (!access) return { state: 'unknown', identity: undefined };
    const identity = oauthIdentity(access.grant);
    if (access.grant.revoked) return { state: 'unknown', identity };
    return access.expiresAt <= this.#now() ? { state: 'expired', identity } : { state: 'valid', identity };
  }

  expireToken(authorization: string | undefined): void {
    const access = this.#access.get(parseBearerToken(authorization) ?? '');
    if (access) access.expiresAt = 0;
  }

  expireAll(locationId: string): void {
    for (const access of this.#access.values()) {
      if (access.grant.locationId === locationId || access.grant.companyId === locationId) {
        access.expiresAt = 0;
      }
    }
  }

  revoke(locationId: string): void {
    for (const grant of this.#grants) {
      if (grant.locationId === locationId || grant.companyId === locationId) grant.revoked = true;
    }
    for (const [token, owner] of this.#pits) if (owner === locationId) this.#pits.delete(token);
  }

  setActive(locationId: string, active: boolean): void {
    if (active) this.#inactive.delete(locationId);
    else this.#inactive.add(locationId);
  }

  #grantFor(what: Install): Grant {
    const isCompany = 'locations' in what;
    const grant: Grant = {
      id: newId(),
      userType: isCompany ? 'Company' : 'Location',
      companyId: what.companyId ?? (isCompany ? newId() : this.#companyOf(what.locationId)),
      locationId: isCompany ? undefined : what.locationId,
      locations: isCompany ? [...what.locations] : [what.locationId],
      scopes: what.scopes ?? ALL_SCOPES,
      userId: newId(),
      revoked: false,
    };
    this.#grants.push(grant);
    return grant;
  }

  #companyOf(locationId: string): string {
    const companyId = this.#companies.get(locationId) ?? newId();
    this.#companies.set(locationId, companyId);
    return companyId;
  }

  #issue(grant: Grant): TokenResponse {
    const expiresIn = this.#settings.expiresInSec;
    const issuedAt = this.#now();
    const claims = {
      authClass: grant.userType,
      authClassId: grant.locationId ?? grant.companyId,
      source: 'INTEGRATION',
      sourceId: this.#settings.clientId,
      channel: 'OAUTH',
      primaryAuthClassId: grant.locationId ?? grant.companyId,
      oauthMeta: { scopes: grant.scopes, client: this.#settings.clientId.split('-')[0] },
      iat: Math.floor(issuedAt / 1000),
    };
    const accessToken = jwt({ ...claims, exp: Math.floor(issuedAt / 1000) + expiresIn, jti: randomUUID() });
    const refreshToken = jwt({ ...claims, uniqueId: randomUUID(), version: '3' });
    this.#access.set(accessToken, { grant, expiresAt: issuedAt + expiresIn * 1000 });
    this.#refresh.set(refreshToken, grant);
    const company = grant.userType === 'Company';
    return compact({
      access_token: accessToken,
      token_type: 'Bearer' as const,
      expires_in: expiresIn,
      refresh_token: refreshToken,
      scope: grant.scopes.join(' '),
      refreshTokenId: randomBytes(12).toString('hex'),
      userType: grant.userType,
      companyId: grant.companyId,
      locationId: grant.locationId,
      approvedLocations: company ? grant.locations : undefined,
      userId: grant.userId,
      isBulkInstallation: company ? true : undefined,
      traceId: randomUUID(),
    });
  }
}

function oauthIdentity(grant: Grant): TokenIdentity {
  const { userType, companyId, locationId, locations, scopes } = grant;
  return { kind: 'oauth', userType, companyId, locationId, locations, scopes };
}

function pitIdentity(locationId: string): TokenIdentity {
  return {
    kind: 'pit',
    userType: 'Location',
    companyId: undefined,
    locationId,
    locations: [locationId],
    scopes: 'all',
  };
}

function jwt(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`;
  return `${signed}.${Buffer.from(signBody(signed, fixedRsaKey()), 'base64').toString('base64url')}`;
}
