import { sleep } from '../../clock.ts';
import type { Clock } from '../../clock.ts';
import type { Failpoint } from '../../failpoint.ts';
import type { Logger } from '../../log.ts';
import type { Grant, GrantKind, Grants, NewGrant } from '../../ports/grants/grants.ts';
import type { IssuedTokens, TokenEndpoint } from './token-endpoint.ts';

export type Refreshed =
  | { readonly kind: 'fresh'; readonly grant: Grant }
  /** Nothing came of it this time; the grant lives. */
  | { readonly kind: 'kept'; readonly reason: string }
  /** Only a new authorisation helps. */
  | { readonly kind: 'dead' }
  | { readonly kind: 'none' };

export interface RefreshDeps {
  readonly grants: Grants;
  readonly endpoint: TokenEndpoint;
  readonly clock: Clock;
  readonly log: Logger;
  readonly failpoint: Failpoint | undefined;
  readonly announce: (ownerId: string) => Promise<void>;
  readonly closed: () => boolean;
  readonly refreshed?: (result: 'ok' | 'kept' | 'dead' | 'unsaved') => void;
}

export type RefreshGrant = (
  kind: GrantKind,
  ownerId: string,
  /** Whether the grant as stored still needs it: another node may have been first. */
  isStale: (grant: Grant) => boolean,
) => Promise<Refreshed>;

type Attempt = { grant: Grant; issued?: IssuedTokens; failure?: { reason: string; dead: boolean } };

const SAVE_AGAIN_MS = 1000;

/**
 * One refresh of one grant (O7, O8). The new tokens are on disk before anybody gets them. A refresh token works once, so when they
 * cannot be saved they are kept in memory and saved as soon as the store is back: the old ones are worth nothing any more.
 */
export function createRefreshGrant(deps: RefreshDeps): RefreshGrant {
  const { grants, endpoint, clock, log, failpoint } = deps;

  return async function refreshGrant(kind, ownerId, isStale) {
    let issued: IssuedTokens | undefined;
    let read: Grant | undefined;
    try {
      const attempt = await grants.exclusively(kind, ownerId, async (grant, commit): Promise<Attempt> => {
        if (grant.state !== 'active' || !isStale(grant)) return { grant };
        if (grant.refreshToken === null)
          return { grant, failure: { reason: 'no refresh token', dead: true } };
        const outcome = await endpoint.refresh(
          grant.refreshToken,
          kind === 'company' ? 'Company' : 'Location',
        );
        if (outcome.kind !== 'issued')
          return { grant, failure: { reason: outcome.reason, dead: outcome.kind === 'invalid' } };
        if (!belongsTo(outcome.tokens, grant))
          return {
            grant,
            failure: { reason: 'the CRM answered with the tokens of somebody else', dead: false },
          };
        read = grant;
        issued = outcome.tokens;
        await failpoint?.('oauth.afterToken');
        const tokens = tokensOf(issued, grant, clock.now());
        await failpoint?.('oauth.beforeCommit');
        return { grant: await commit(tokens), issued };
      });
      return await conclude(attempt);
    } catch (error) {
      if (issued === undefined || read === undefined) throw error;
      log.error(
        { kind, ownerId, err: error },
        'refreshed tokens could not be saved; kept in memory until then',
      );
      deps.refreshed?.('unsaved');
      const grant = { ...read, ...tokensOf(issued, read, clock.now()) };
      void saveUntilSaved(grant);
      return { kind: 'fresh', grant };
    }
  };

  async function conclude(attempt: Attempt | undefined): Promise<Refreshed> {
    if (attempt === undefined) return { kind: 'none' };
    const { grant, failure, issued } = attempt;
    if (issued !== undefined) {
      deps.refreshed?.('ok');
      await deps.announce(grant.ownerId);
    }
    if (failure === undefined) return grant.state === 'active' ? { kind: 'fresh', grant } : { kind: 'dead' };
    return failure.dead ? refusedForGood(grant, failure.reason) : keep(grant, failure.reason);
  }

  async function keep(grant: Grant, reason: string): Promise<Refreshed> {
    deps.refreshed?.('kept');
    log.warn({ kind: grant.kind, ownerId: grant.ownerId, reason }, 'a token could not be refreshed');
    await grants.note(grant, { state: 'active', lastError: reason });
    return { kind: 'kept', reason };
  }

  // Another process may have used the refresh token a moment before us: only an unchanged grant is dead (O8).
  async function refusedForGood(grant: Grant, reason: string): Promise<Refreshed> {
    const now = await grants.find(grant.kind, grant.ownerId);
    if (now !== undefined && now.state === 'active' && now.refreshedAt !== grant.refreshedAt)
      return { kind: 'fresh', grant: now };
    deps.refreshed?.('dead');
    log.warn(
      { kind: grant.kind, ownerId: grant.ownerId, reason },
      'a grant is dead: it must be authorised anew',
    );
    await grants.note(grant, { state: 'reauth_required', lastError: reason });
    await deps.announce(grant.ownerId);
    return { kind: 'dead' };
  }

  async function saveUntilSaved(grant: NewGrant): Promise<void> {
    while (!deps.closed()) {
      await sleep(clock, SAVE_AGAIN_MS);
      try {
        await grants.store(grant);
        await deps.announce(grant.ownerId);
        return log.info({ kind: grant.kind, ownerId: grant.ownerId }, 'refreshed tokens saved');
      } catch {
        // The first failure was logged, and nothing else can be done than to try again.
      }
    }
  }
}

/** Tokens of another tenant must not act for this one, whatever the endpoint thinks. An answer that names nobody is for who asked. */
const belongsTo = ({ locationId, companyId }: IssuedTokens, { kind, ownerId }: Grant) =>
  ((kind === 'location' ? locationId : companyId) ?? ownerId) === ownerId;

/** An answer without a refresh token leaves the old one in use. */
const tokensOf = (issued: IssuedTokens, before: Grant, now: number) => ({
  accessToken: issued.accessToken,
  refreshToken: issued.refreshToken ?? before.refreshToken,
  expiresAt: now + issued.expiresInSec * 1000,
});
