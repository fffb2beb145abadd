import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import { EngineError } from '../../platform/errors.ts';
import type { Changes } from '../../platform/changes/changes.ts';
import type { Grant, GrantKind, Grants } from './grants-sql.ts';
import { createAppEvents } from './app-events.ts';
import type { AppEvents, TokenCheck } from './app-events.ts';
import { createInstallApp } from './install-app.ts';
import type { InstallOutcome } from './install-app.ts';
import { createRecordRefusal } from './record-refusal.ts';
import type { RecordRefusal } from './record-refusal.ts';
import { createGrantRefreshes } from './refresh-grant.ts';
import type { GrantRefreshes, RefreshDeps } from './refresh-grant.ts';
import type { Bearer, BearerKind, CrmTokens, NoBearer } from '../../relay/crm/tokens.ts';
import type { TokenEndpoint } from './token-endpoint.ts';

export interface OAuthDeps {
  readonly grants: Grants;
  readonly endpoint: TokenEndpoint;
  readonly thresholdSec: number;
}

export interface TokensDeps {
  /** Undefined when OAuth is disabled or its settings are incomplete. */
  readonly oauth: OAuthDeps | undefined;
  /** Undefined when OAuth is enabled and complete: the two never mix (I4). */
  readonly privateToken: ((locationId: string) => Promise<string | undefined>) | undefined;
  readonly changes: Pick<Changes, 'announce' | 'listen'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint | undefined;
  readonly refreshed?: NonNullable<RefreshDeps['refreshed']>;
}

/**
 * The tokens for calls to the CRM, per location.
 *
 * - `bearer` returns a fresh token from memory; else it reads the store and refreshes before expiry (O7). Callers that need the same
 *   token share one refresh.
 * - `renew` is for a token the CRM rejected: returns a newer one if there is any, else refreshes once.
 * - While the token endpoint is unavailable, the old token is used until it expires.
 */
export interface Tokens extends CrmTokens {
  install(code: string): Promise<InstallOutcome>;
  /** Undefined when OAuth is disabled or its settings are incomplete. */
  readonly appEvents: AppEvents | undefined;
  /** Begins no further refresh. Resolves when those in flight have ended and their tokens are stored. */
  close(): Promise<void>;
}

interface CachedToken {
  readonly bearer: Bearer | NoBearer;
  /** Wall clock time from which it is looked up again. */
  readonly freshUntil: number;
  readonly expiresAt: number;
  /** Monotonic time of a refresh after a rejection. */
  readonly renewedAt?: number | undefined;
}

const MAX_CACHED = 20_000;
/** Tokens without an expiry are re-read this often: another node or the operator may have changed them. */
const REREAD_MS = 5000;
const REFRESH_RETRY_MS = 30_000;
/** A token that is rejected this soon after a refresh is not refreshed again. */
const JUST_RENEWED_MS = 2000;

const NONE: NoBearer = { missing: 'none' };
const REVOKED: NoBearer = { missing: 'reauth_required' };
const UNAVAILABLE: NoBearer = { missing: 'unavailable' };

export function createTokens(deps: TokensDeps): Tokens {
  return new CachedTokens(deps);
}

class CachedTokens implements Tokens {
  readonly #deps: TokensDeps;
  readonly #refreshes: GrantRefreshes | undefined;
  readonly #recordRefusal: RecordRefusal | undefined;
  readonly appEvents: AppEvents | undefined;
  readonly #install: ((code: string) => Promise<InstallOutcome>) | undefined;
  readonly #cached = new Map<string, CachedToken>();
  readonly #loads = new Map<string, Promise<Bearer | NoBearer>>();
  readonly #renewals = new Map<string, Promise<Bearer | NoBearer>>();
  /** Locations whose grant was removed while their token was being read or refreshed. */
  readonly #removed = new Set<string>();
  readonly #stops: readonly (() => void)[];
  /** The lifetime of refreshed tokens, known after the first refresh. */
  #refreshedLife = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(deps: TokensDeps) {
    const { oauth, changes, clock, log, failpoint, refreshed } = deps;
    this.#deps = deps;
    const announce = (ownerId: string) => changes.announce('grant', ownerId);
    if (oauth !== undefined) {
      const { grants, endpoint } = oauth;
      const common = { grants, endpoint, clock, log, announce };
      this.#refreshes = createGrantRefreshes({ ...common, failpoint, ...(refreshed && { refreshed }) });
      const recordRefusal = createRecordRefusal(common);
      this.#recordRefusal = recordRefusal;
      const requesting = new Set<string>();
      this.#install = createInstallApp({ ...common, recordRefusal, requesting });
      this.appEvents = createAppEvents({
        grants,
        mint: async (locationId, companyId) =>
          !requesting.has(locationId) && (await this.#mint(locationId, companyId)) !== undefined,
        check: (kind, ownerId) => this.#check(kind, ownerId),
        announceRemoval: (ownerId) => changes.announce('grant_removed', ownerId),
        now: () => clock.now(),
        log,
      });
    }
    this.#stops = [
      changes.listen('grant', (subject) => this.#forget(subject)),
      changes.listen('grant_removed', (subject) => {
        for (const locationId of [...this.#loads.keys(), ...this.#renewals.keys()])
          if (subject === '*' || subject === locationId) this.#removed.add(locationId);
        this.#forget(subject);
      }),
    ];
  }

  async bearer(locationId: string, kind: BearerKind): Promise<Bearer | NoBearer> {
    if (this.#deps.oauth === undefined && (kind === 'oauth' || this.#deps.privateToken === undefined))
      return NONE;
    const known = this.#cached.get(locationId);
    if (known !== undefined && this.#deps.clock.now() < known.freshUntil) return known.bearer;
    return this.#shared(this.#loads, locationId, () => this.#load(locationId));
  }

  renew(locationId: string, kind: BearerKind, rejected: Bearer): Promise<Bearer | NoBearer> {
    const newer = async () => {
      const { oauth, clock } = this.#deps;
      const known = this.#cached.get(locationId);
      if (known !== undefined && isNewer(known.bearer, rejected)) return known.bearer;
      if (oauth === undefined) return this.#rereadPrivate(locationId, kind, rejected);
      if (clock.monotonic() - (known?.renewedAt ?? Number.NEGATIVE_INFINITY) < JUST_RENEWED_MS)
        return UNAVAILABLE;
      return this.#refreshed(locationId, undefined, (grant) => bearerOf(grant) === rejected.authorization);
    };
    return this.#shared(this.#renewals, locationId, newer, rejected);
  }

  async install(code: string): Promise<InstallOutcome> {
    return (await this.#install?.(code)) ?? { kind: 'failed' };
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops) stop();
    await this.#refreshes?.close();
  }

  #forget(subject: string): void {
    if (subject === '*') this.#cached.clear();
    else this.#cached.delete(subject);
  }

  #shared(
    flights: Map<string, Promise<Bearer | NoBearer>>,
    locationId: string,
    task: () => Promise<Bearer | NoBearer>,
    rejected?: Bearer,
  ): Promise<Bearer | NoBearer> {
    const shared = flights.get(locationId);
    if (shared !== undefined) return shared;
    const flight = task()
      .catch((error: unknown) => this.#storeUnavailable(locationId, error, rejected))
      .finally(() => {
        flights.delete(locationId);
        if (this.#removed.delete(locationId)) this.#cached.delete(locationId);
      });
    flights.set(locationId, flight);
    return flight;
  }

  async #load(locationId: string): Promise<Bearer | NoBearer> {
    const { oauth, privateToken, clock } = this.#deps;
    if (oauth === undefined) {
      const token = await privateToken?.(locationId);
      if (token === undefined) return this.#remember(locationId, NONE, clock.now() + REREAD_MS);
      return this.#remember(locationId, { authorization: `Bearer ${token}` }, clock.now() + REREAD_MS);
    }
    const grant = await oauth.grants.find('location', locationId);
    if (grant === undefined) return this.#remember(locationId, NONE, clock.now() + REREAD_MS);
    if (grant.state !== 'active') return this.#remember(locationId, REVOKED, clock.now() + REREAD_MS);
    if (!this.#isAging(grant)) return this.#keep(grant);
    return this.#refreshed(locationId, grant, (stored) => this.#isAging(stored));
  }

  /** The token of `fallback` is used when the refresh fails. */
  async #refreshed(
    locationId: string,
    fallback: Grant | undefined,
    isStale: (grant: Grant) => boolean,
  ): Promise<Bearer | NoBearer> {
    const { clock } = this.#deps;
    const result = (await this.#refreshes?.refresh('location', locationId, isStale)) ?? {
      kind: 'none' as const,
    };
    const renewedAt = fallback === undefined ? clock.monotonic() : undefined;
    if (result.kind === 'fresh') {
      this.#refreshedLife = lifeOf(result.grant);
      return this.#keep(result.grant, renewedAt);
    }
    if (result.kind === 'none') return this.#remember(locationId, NONE, clock.now() + REREAD_MS);
    if (result.kind === 'kept')
      return this.#useUntilExpiry(
        locationId,
        fallback && { authorization: bearerOf(fallback) },
        fallback?.expiresAt,
      );
    const minted = await this.#mintAgain(locationId);
    return minted === undefined
      ? this.#remember(locationId, REVOKED, clock.now() + REREAD_MS)
      : this.#keep(minted, renewedAt);
  }

  /** Uses the old token until it expires, and tries again later. */
  #useUntilExpiry(
    locationId: string,
    bearer: Bearer | NoBearer | undefined,
    expiresAt = 0,
  ): Bearer | NoBearer {
    const now = this.#deps.clock.now();
    if (bearer === undefined || now >= expiresAt)
      return this.#remember(locationId, UNAVAILABLE, now + REREAD_MS);
    return this.#remember(locationId, bearer, Math.min(expiresAt, now + REFRESH_RETRY_MS), expiresAt);
  }

  /** Exchanges the company's token for new tokens of a location whose own grant was revoked (O9). */
  async #mintAgain(locationId: string): Promise<Grant | undefined> {
    const revoked = await this.#deps.oauth?.grants.find('location', locationId);
    return revoked === undefined || revoked.companyId === null
      ? undefined
      : this.#mint(locationId, revoked.companyId);
  }

  /** Exchanges the company's token for tokens of a location that has none. Resolves with undefined when the CRM issues none. */
  async #mint(locationId: string, companyId: string): Promise<Grant | undefined> {
    const { oauth, clock, changes } = this.#deps;
    if (oauth === undefined || this.#closed) return undefined;
    const { grants, endpoint } = oauth;
    const company = await this.#refreshes?.refresh('company', companyId, (grant) => this.#isAging(grant));
    if (company?.kind !== 'fresh') return undefined;
    const { accessToken: companyToken } = company.grant;
    const requestedAt = clock.now();
    const minted = await grants.exclusively('location', locationId, async (grant, commit) => {
      // Another node may have been first, or the app was uninstalled.
      if (grant.state === 'active' || grant.state === 'uninstalled') return grant;
      const issued = await endpoint.mint(companyToken, companyId, locationId);
      if (!issued.ok) return issued;
      const { accessToken, refreshToken, expiresInSec } = issued.value;
      return commit({
        companyId,
        accessToken,
        refreshToken,
        expiresAt: clock.now() + expiresInSec * 1000,
      });
    });
    if (minted === undefined) return undefined;
    if ('ok' in minted) {
      await this.#recordRefusal?.(minted, { ownerId: locationId, companyId, requestedAt });
      return undefined;
    }
    if (minted.state !== 'active') return undefined;
    await changes.announce('grant', locationId);
    return minted;
  }

  /** Tries the access token. Refreshes only if the CRM rejects it, because a refresh replaces the tokens. */
  async #check(kind: GrantKind, ownerId: string): Promise<TokenCheck> {
    const { oauth } = this.#deps;
    const grant = await oauth?.grants.find(kind, ownerId);
    // An access token that no key decrypts reads as empty.
    if (oauth === undefined || this.#closed || grant === undefined || grant.accessToken === '')
      return { tokens: 'unknown', grant };
    const tried = await oauth.endpoint.tryToken(grant.accessToken, kind, ownerId);
    if (tried.ok) return { tokens: 'accepted', grant };
    if (tried.retryable) return { tokens: 'unknown', grant };
    const isTried = (stored: Grant) => stored.accessToken === grant.accessToken;
    const refreshed = await this.#refreshes?.refresh(kind, ownerId, isTried);
    if (refreshed?.kind === 'fresh') return { tokens: 'accepted', grant };
    if (refreshed?.kind !== 'dead') return { tokens: 'unknown', grant };
    const minted = kind === 'location' ? await this.#mintAgain(ownerId) : undefined;
    return { tokens: minted === undefined ? 'rejected' : 'accepted', grant };
  }

  async #rereadPrivate(locationId: string, kind: BearerKind, rejected: Bearer): Promise<Bearer | NoBearer> {
    this.#cached.delete(locationId);
    const read = await this.#load(locationId);
    return kind === 'any' && isNewer(read, rejected) ? read : REVOKED;
  }

  #isAging(grant: Grant): boolean {
    return this.#deps.clock.now() >= this.#freshUntil(grant);
  }

  /** With a threshold longer than the lifetime, which would refresh all the time, half of the lifetime is used. */
  #freshUntil(grant: Grant): number {
    const life = lifeOf(grant);
    const threshold = (this.#deps.oauth?.thresholdSec ?? 0) * 1000;
    const isShorterThanLife = Math.max(life, this.#refreshedLife) > threshold;
    return grant.expiresAt - (isShorterThanLife ? threshold : life / 2);
  }

  #keep(grant: Grant, renewedAt?: number): Bearer {
    const bearer = { authorization: bearerOf(grant) };
    return this.#remember(grant.ownerId, bearer, this.#freshUntil(grant), grant.expiresAt, renewedAt);
  }

  #remember<B extends Bearer | NoBearer>(
    locationId: string,
    bearer: B,
    freshUntil: number,
    expiresAt = freshUntil,
    renewedAt?: number,
  ): B {
    this.#cached.delete(locationId);
    this.#cached.set(locationId, { bearer, freshUntil, expiresAt, renewedAt });
    if (this.#cached.size > MAX_CACHED) {
      const [oldest] = this.#cached.keys();
      if (oldest !== undefined) this.#cached.delete(oldest);
    }
    return bearer;
  }

  /** Serves from memory until the token expires, but not a token that the CRM rejected. */
  #storeUnavailable(locationId: string, error: unknown, rejected: Bearer | undefined): Bearer | NoBearer {
    const { log } = this.#deps;
    const cached = this.#cached.get(locationId);
    const known = rejected === undefined || (cached && isNewer(cached.bearer, rejected)) ? cached : undefined;
    if (error instanceof EngineError)
      log.warn({ event: 'token.store_unavailable', locationId, err: error }, 'token store unavailable');
    else log.error({ event: 'token.unavailable', locationId, err: error }, 'token unavailable');
    return this.#useUntilExpiry(locationId, known?.bearer, known?.expiresAt);
  }
}

const isNewer = (known: Bearer | NoBearer, rejected: Bearer): known is Bearer =>
  'authorization' in known && known.authorization !== rejected.authorization;

const lifeOf = (grant: Grant) => Math.max(0, grant.expiresAt - grant.refreshedAt);

const bearerOf = (grant: Grant) => `Bearer ${grant.accessToken}`;
