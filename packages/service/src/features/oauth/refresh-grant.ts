import { setMaxListeners } from 'node:events';

import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { Log } from '@footbridge/runtime/log';

import type { Grant, GrantKind, Grants, TokenPair } from './grants-sql.ts';
import type { IssuedTokens, TokenEndpoint } from './token-endpoint.ts';

export type Refreshed =
  | { readonly kind: 'fresh'; readonly grant: Grant }
  /** The refresh failed, and the grant is still valid. */
  | { readonly kind: 'kept'; readonly reason: string }
  /** The grant was revoked: the location has to be authorised again. */
  | { readonly kind: 'dead' }
  | { readonly kind: 'none' };

export interface RefreshDeps {
  readonly grants: Grants;
  readonly endpoint: TokenEndpoint;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint | undefined;
  readonly announce: (ownerId: string) => Promise<void>;
  readonly refreshed?: (result: 'ok' | 'kept' | 'dead' | 'unsaved') => void;
}

export interface GrantRefreshes {
  /** `isStale`: whether the stored grant still needs a refresh, since another node may have been first. */
  refresh(kind: GrantKind, ownerId: string, isStale: (grant: Grant) => boolean): Promise<Refreshed>;
  /** Sends no further request. Resolves when those in flight have ended. Tokens that could not be stored get one last attempt. */
  close(): Promise<void>;
}

type RefreshAttempt = {
  grant: Grant;
  issued?: IssuedTokens;
  failure?: { reason: string; isRevoked: boolean };
};

const SAVE_RETRY_MS = 1000;

/**
 * Refreshes grants (O7, O8). The new tokens are stored before they are used. A refresh token works once, so tokens that cannot be
 * stored are kept in memory until the store is back: the old ones are no longer valid.
 */
export function createGrantRefreshes(deps: RefreshDeps): GrantRefreshes {
  const { grants, endpoint, clock, log, failpoint } = deps;
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const running = new Set<Promise<unknown>>();

  function track<T>(task: Promise<T>): Promise<T> {
    const tracked = task.finally(() => running.delete(tracked));
    running.add(tracked);
    return tracked;
  }

  return {
    refresh: (...grant) => track(refreshGrant(...grant)),
    async close() {
      closing.abort();
      // A refresh whose tokens cannot be stored is followed by another attempt to store them.
      while (running.size > 0) await Promise.allSettled(running);
    },
  };

  async function refreshGrant(
    ...[kind, ownerId, isStale]: Parameters<GrantRefreshes['refresh']>
  ): Promise<Refreshed> {
    let issued: IssuedTokens | undefined;
    let read: Grant | undefined;
    try {
      const attempt = await grants.exclusively(
        kind,
        ownerId,
        async (grant, commit): Promise<RefreshAttempt | 'closing' | undefined> => {
          if (grant.state !== 'active' || !isStale(grant)) return { grant };
          // The service began to stop while this refresh waited for the lock.
          if (closing.signal.aborted) return 'closing';
          if (grant.refreshToken === null)
            return { grant, failure: { reason: 'no refresh token', isRevoked: true } };
          const result = await endpoint.refresh(
            grant.refreshToken,
            kind === 'company' ? 'Company' : 'Location',
          );
          if (!result.ok)
            return { grant, failure: { reason: result.reason, isRevoked: result.kind === 'invalid' } };
          if (!belongsTo(result.value, grant))
            return {
              grant,
              failure: { reason: 'the CRM returned tokens of another location', isRevoked: false },
            };
          read = grant;
          issued = result.value;
          await failpoint?.('oauth.afterToken');
          const tokens = tokensOf(issued, grant, clock.now());
          await failpoint?.('oauth.beforeCommit');
          const committed = await commit(tokens);
          return committed === undefined ? undefined : { grant: committed, issued };
        },
      );
      return await conclude(attempt);
    } catch (error) {
      if (issued === undefined || read === undefined) throw error;
      log.error(
        { event: 'grant.not_saved', kind, ownerId, err: error },
        'refreshed tokens not saved, kept in memory until the store is back',
      );
      deps.refreshed?.('unsaved');
      const tokens = tokensOf(issued, read, clock.now());
      void track(saveUntilSaved(read, tokens));
      return { kind: 'fresh', grant: { ...read, ...tokens } };
    }
  }

  async function conclude(attempt: RefreshAttempt | 'closing' | undefined): Promise<Refreshed> {
    if (attempt === undefined) return { kind: 'none' };
    if (attempt === 'closing') return { kind: 'kept', reason: 'the service is stopping' };
    const { grant, failure, issued } = attempt;
    if (issued !== undefined) {
      deps.refreshed?.('ok');
      await deps.announce(grant.ownerId);
    }
    if (failure === undefined) return grant.state === 'active' ? { kind: 'fresh', grant } : { kind: 'dead' };
    return failure.isRevoked ? revoked(grant, failure.reason) : keep(grant, failure.reason);
  }

  async function keep(grant: Grant, reason: string): Promise<Refreshed> {
    deps.refreshed?.('kept');
    log.warn(
      { event: 'grant.not_refreshed', kind: grant.kind, ownerId: grant.ownerId, reason },
      'token not refreshed, the old one is used until it expires',
    );
    await grants.recordFailure(grant, { state: 'active', lastError: reason });
    return { kind: 'kept', reason };
  }

  // Another process may have used the refresh token a moment before: only an unchanged grant was revoked (O8).
  async function revoked(grant: Grant, reason: string): Promise<Refreshed> {
    const now = await grants.find(grant.kind, grant.ownerId);
    if (now !== undefined && now.state === 'active' && now.refreshedAt !== grant.refreshedAt)
      return { kind: 'fresh', grant: now };
    deps.refreshed?.('dead');
    log.warn(
      { event: 'grant.revoked', kind: grant.kind, ownerId: grant.ownerId, reason },
      'grant revoked, re-authorisation needed',
    );
    await grants.recordFailure(grant, { state: 'reauth_required', lastError: reason });
    await deps.announce(grant.ownerId);
    return { kind: 'dead' };
  }

  async function saveUntilSaved({ kind, ownerId, refreshedAt }: Grant, tokens: TokenPair): Promise<void> {
    do {
      await clock.sleep(SAVE_RETRY_MS, closing.signal);
      try {
        // Unless it was replaced or removed in between.
        await grants.exclusively(kind, ownerId, async (stored, commit) => {
          if (stored.refreshedAt === refreshedAt) await commit(tokens);
        });
        await deps.announce(ownerId);
        return log.info({ event: 'grant.saved', kind, ownerId }, 'refreshed tokens saved');
      } catch {
        // The first failure was logged.
      }
    } while (!closing.signal.aborted);
  }
}

/** Tokens of another tenant must not be used for this one. A response that names no owner is for the requested one. */
const belongsTo = ({ locationId, companyId }: IssuedTokens, { kind, ownerId }: Grant) =>
  ((kind === 'location' ? locationId : companyId) ?? ownerId) === ownerId;

/** A response without a refresh token leaves the old one valid. */
const tokensOf = (issued: IssuedTokens, before: Grant, now: number) => ({
  accessToken: issued.accessToken,
  refreshToken: issued.refreshToken ?? before.refreshToken,
  expiresAt: now + issued.expiresInSec * 1000,
});
