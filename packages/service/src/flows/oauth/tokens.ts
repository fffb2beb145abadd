import type { Clock } from '../../clock.ts';
import { EngineError } from '../../errors.ts';
import type { Failpoint } from '../../failpoint.ts';
import type { Logger } from '../../log.ts';
import type { Changes } from '../../ports/changes/changes.ts';
import type { Grant, Grants, GrantView } from '../../ports/grants/grants.ts';
import { createInstallApp } from './install-app.ts';
import type { InstallOutcome } from './install-app.ts';
import { createRefreshGrant } from './refresh-grant.ts';
import type { RefreshDeps, RefreshGrant } from './refresh-grant.ts';
import type { TokenEndpoint } from './token-endpoint.ts';

export interface Bearer {
  readonly authorization: string;
}
export type NoBearer = { readonly missing: 'none' | 'reauth_required' | 'away' };
export type BearerKind = 'oauth' | 'any';

export interface OAuthSide {
  readonly grants: Grants;
  readonly endpoint: TokenEndpoint;
  readonly thresholdSec: number;
}

export interface TokensDeps {
  /** Undefined when OAuth is disabled or its settings are incomplete. */
  readonly oauth: OAuthSide | undefined;
  /** Undefined when OAuth is enabled: the two never mix (I4). */
  readonly privateToken: ((locationId: string) => Promise<string | undefined>) | undefined;
  readonly changes: Pick<Changes, 'announce' | 'listen'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly failpoint: Failpoint | undefined;
  readonly refreshed?: NonNullable<RefreshDeps['refreshed']>;
}

/**
 * Who may call the CRM for a location, and with what.
 *
 * - `bearer` answers at once from memory while the token is fresh; else it reads the store and refreshes ahead of expiry (O7).
 *   Callers that need the same token wait for one refresh together.
 * - `renew` is for a bearer the CRM refused: a newer one if there is any, else one refresh.
 * - While the token endpoint is away, the old token serves until it expires.
 */
export interface Tokens {
  bearer(locationId: string, kind: BearerKind): Bearer | NoBearer | Promise<Bearer | NoBearer>;
  renew(locationId: string, kind: BearerKind, refused: Bearer): Promise<Bearer | NoBearer>;
  install(code: string): Promise<InstallOutcome>;
  grants(): Promise<GrantView[]>;
  close(): void;
}

interface Known {
  readonly bearer: Bearer | NoBearer;
  /** Wall clock: from then on it is looked up again. */
  readonly freshUntil: number;
  readonly expiresAt: number;
  /** Monotonic time of the refresh that a refusal made necessary. */
  readonly renewedAt?: number | undefined;
}

const KEPT = 20_000;
/** What no clock of the CRM's limits is looked up again this often: another node, or a person, may have changed it. */
const LOOKED_UP_MS = 5000;
const REFRESH_AGAIN_MS = 30_000;
/** A token refused this soon after it replaced a refused one is not healed by yet another. */
const JUST_RENEWED_MS = 2000;

const NONE: NoBearer = { missing: 'none' };
const DEAD: NoBearer = { missing: 'reauth_required' };
const AWAY: NoBearer = { missing: 'away' };

export function createTokens(deps: TokensDeps): Tokens {
  return new CachedTokens(deps);
}

class CachedTokens implements Tokens {
  readonly #deps: TokensDeps;
  readonly #refresh: RefreshGrant | undefined;
  readonly #install: ((code: string) => Promise<InstallOutcome>) | undefined;
  readonly #known = new Map<string, Known>();
  readonly #loads = new Map<string, Promise<Bearer | NoBearer>>();
  readonly #renewals = new Map<string, Promise<Bearer | NoBearer>>();
  readonly #stop: () => void;
  /** How long a token lives that comes from a refresh, once one came. */
  #refreshedLife = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(deps: TokensDeps) {
    const { oauth, changes, clock, log, failpoint, refreshed } = deps;
    this.#deps = deps;
    const announce = (ownerId: string) => changes.announce('grant', ownerId);
    if (oauth !== undefined) {
      const { grants, endpoint } = oauth;
      const common = { grants, endpoint, clock, log, announce };
      this.#refresh = createRefreshGrant({
        ...common,
        failpoint,
        closed: () => this.#closed,
        ...(refreshed && { refreshed }),
      });
      this.#install = createInstallApp(common);
    }
    this.#stop = changes.listen('grant', (subject) => {
      if (subject === '*') this.#known.clear();
      else this.#known.delete(subject);
    });
  }

  bearer(locationId: string, kind: BearerKind): Bearer | NoBearer | Promise<Bearer | NoBearer> {
    if (this.#deps.oauth === undefined && (kind === 'oauth' || this.#deps.privateToken === undefined))
      return NONE;
    const known = this.#known.get(locationId);
    if (known !== undefined && this.#deps.clock.now() < known.freshUntil) return known.bearer;
    return this.#together(this.#loads, locationId, () => this.#load(locationId));
  }

  renew(locationId: string, kind: BearerKind, refused: Bearer): Promise<Bearer | NoBearer> {
    return this.#together(this.#renewals, locationId, async () => {
      const { oauth, clock } = this.#deps;
      const known = this.#known.get(locationId);
      if (known !== undefined && isNewer(known.bearer, refused)) return known.bearer;
      if (oauth === undefined) return this.#rereadPrivate(locationId, kind, refused);
      if (clock.monotonic() - (known?.renewedAt ?? Number.NEGATIVE_INFINITY) < JUST_RENEWED_MS) return AWAY;
      return this.#refreshed(locationId, undefined, (grant) => bearerOf(grant) === refused.authorization);
    });
  }

  async install(code: string): Promise<InstallOutcome> {
    return (await this.#install?.(code)) ?? { kind: 'failed' };
  }

  async grants(): Promise<GrantView[]> {
    return (await this.#deps.oauth?.grants.list()) ?? [];
  }

  close(): void {
    this.#closed = true;
    this.#stop();
  }

  #together(
    flights: Map<string, Promise<Bearer | NoBearer>>,
    locationId: string,
    task: () => Promise<Bearer | NoBearer>,
  ): Promise<Bearer | NoBearer> {
    const under = flights.get(locationId);
    if (under !== undefined) return under;
    const flight = task()
      .catch((error: unknown) => this.#storeAway(locationId, error))
      .finally(() => flights.delete(locationId));
    flights.set(locationId, flight);
    return flight;
  }

  async #load(locationId: string): Promise<Bearer | NoBearer> {
    const { oauth, privateToken, clock } = this.#deps;
    if (oauth === undefined) {
      const token = await privateToken?.(locationId);
      if (token === undefined) return this.#remember(locationId, NONE, clock.now() + LOOKED_UP_MS);
      return this.#remember(locationId, { authorization: `Bearer ${token}` }, clock.now() + LOOKED_UP_MS);
    }
    const grant = await oauth.grants.find('location', locationId);
    if (grant === undefined) return this.#remember(locationId, NONE, clock.now() + LOOKED_UP_MS);
    if (grant.state !== 'active') return this.#remember(locationId, DEAD, clock.now() + LOOKED_UP_MS);
    if (!this.#isAging(grant)) return this.#keep(grant);
    return this.#refreshed(locationId, grant, (stored) => this.#isAging(stored));
  }

  /** `fallback` is the grant whose token still serves when nothing comes of the refresh. */
  async #refreshed(
    locationId: string,
    fallback: Grant | undefined,
    isStale: (grant: Grant) => boolean,
  ): Promise<Bearer | NoBearer> {
    const { clock } = this.#deps;
    const result = (await this.#refresh?.('location', locationId, isStale)) ?? { kind: 'none' as const };
    const renewedAt = fallback === undefined ? clock.monotonic() : undefined;
    if (result.kind === 'fresh') {
      this.#refreshedLife = lifeOf(result.grant);
      return this.#keep(result.grant, renewedAt);
    }
    if (result.kind === 'none') return this.#remember(locationId, NONE, clock.now() + LOOKED_UP_MS);
    if (result.kind === 'kept')
      return this.#carryOn(
        locationId,
        fallback && { authorization: bearerOf(fallback) },
        fallback?.expiresAt,
      );
    const minted = await this.#mintAgain(locationId);
    return minted === undefined
      ? this.#remember(locationId, DEAD, clock.now() + LOOKED_UP_MS)
      : this.#keep(minted, renewedAt);
  }

  /** The old token serves until it expires, and is not asked about again for a while. */
  #carryOn(locationId: string, bearer: Bearer | NoBearer | undefined, expiresAt = 0): Bearer | NoBearer {
    const now = this.#deps.clock.now();
    if (bearer === undefined || now >= expiresAt) return this.#remember(locationId, AWAY, now + LOOKED_UP_MS);
    return this.#remember(locationId, bearer, Math.min(expiresAt, now + REFRESH_AGAIN_MS), expiresAt);
  }

  /** A location of a company gets new tokens from the company's, when its own are worth nothing any more (O9). */
  async #mintAgain(locationId: string): Promise<Grant | undefined> {
    const { oauth, clock, changes } = this.#deps;
    const dead = await oauth?.grants.find('location', locationId);
    const companyId = dead?.companyId;
    if (oauth === undefined || companyId === null || companyId === undefined) return undefined;
    const company = await this.#refresh?.('company', companyId, (grant) => this.#isAging(grant));
    if (company?.kind !== 'fresh') return undefined;
    const outcome = await oauth.endpoint.mint(company.grant.accessToken, companyId, locationId);
    if (outcome.kind !== 'issued') return undefined;
    const { accessToken, refreshToken, expiresInSec } = outcome.tokens;
    const grant = await oauth.grants.store({
      kind: 'location',
      ownerId: locationId,
      companyId,
      accessToken,
      refreshToken,
      expiresAt: clock.now() + expiresInSec * 1000,
    });
    await changes.announce('grant', locationId);
    return grant;
  }

  async #rereadPrivate(locationId: string, kind: BearerKind, refused: Bearer): Promise<Bearer | NoBearer> {
    this.#known.delete(locationId);
    const read = await this.#load(locationId);
    return kind === 'any' && isNewer(read, refused) ? read : DEAD;
  }

  #isAging(grant: Grant): boolean {
    return this.#deps.clock.now() >= this.#freshUntil(grant);
  }

  /** A threshold that no token outlives would refresh all the time: then half of a life must do. */
  #freshUntil(grant: Grant): number {
    const life = lifeOf(grant);
    const threshold = (this.#deps.oauth?.thresholdSec ?? 0) * 1000;
    const isOutlived = Math.max(life, this.#refreshedLife) > threshold;
    return grant.expiresAt - (isOutlived ? threshold : life / 2);
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
    this.#known.delete(locationId);
    this.#known.set(locationId, { bearer, freshUntil, expiresAt, renewedAt });
    if (this.#known.size > KEPT) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    return bearer;
  }

  /** The store is away: what is in memory serves until it expires. */
  #storeAway(locationId: string, error: unknown): Bearer | NoBearer {
    const { log } = this.#deps;
    const known = this.#known.get(locationId);
    if (error instanceof EngineError) log.warn({ locationId, err: error }, 'the store of tokens is away');
    else log.error({ locationId, err: error }, 'a token could not be had');
    return this.#carryOn(locationId, known?.bearer, known?.expiresAt);
  }
}

const isNewer = (known: Bearer | NoBearer, refused: Bearer): known is Bearer =>
  'authorization' in known && known.authorization !== refused.authorization;

const lifeOf = (grant: Grant) => Math.max(0, grant.expiresAt - grant.refreshedAt);

const bearerOf = (grant: Grant) => `Bearer ${grant.accessToken}`;
