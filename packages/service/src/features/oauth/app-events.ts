import type { Log } from '@footbridge/runtime/log';

import type { AppEvent } from '../../relay/webhook/app-events.ts';
import type { Doubt, Grant, GrantKind, Grants, InstallEvent } from './grants-sql.ts';

export interface AppEventsDeps {
  readonly grants: Grants;
  /** Requests the tokens of a location from the grant of its company. Resolves with whether there are tokens now. */
  readonly mint: (locationId: string, companyId: string) => Promise<boolean>;
  /** Asks the CRM whether it still accepts the tokens of a grant. Resolves with that grant too. */
  readonly check: (kind: GrantKind, ownerId: string) => Promise<TokenCheck>;
  /** Tells all nodes that calls with these tokens must stop. */
  readonly announceRemoval: (ownerId: string) => Promise<void>;
  readonly now: () => number;
  readonly log: Log;
}

/** `unknown`: the CRM does not respond, or does not say. */
export interface TokenCheck {
  readonly tokens: 'accepted' | 'rejected' | 'unknown';
  readonly grant: Grant | undefined;
}

export interface AppEvents {
  /**
   * Resolves once the event is recorded. The CRM is called afterwards; for a repeat, at the next round. Rejects with EngineError when the
   * database is unavailable.
   */
  handle(event: Omit<AppEvent, 'fields' | 'updatedAt'>): Promise<void>;
  /** Requests the tokens that are still expected, for example after a restart. Concurrent calls share one round. Never rejects. */
  serveExpected(): Promise<void>;
  /** Asks the CRM about the grants that are still in doubt. Concurrent calls share one round. Never rejects. */
  askDoubted(): Promise<void>;
}

/** The types of the events that `handle` knows. */
export const APP_EVENTS = ['INSTALL', 'UNINSTALL'] as const;

/** Returns the app id: the part of the client id before the first dash. */
export const appIdOf = (clientId: string): string => clientId.split('-')[0] ?? clientId;

const APP_ID = /^[\da-f]{24}$/;

/** Returns whether an event belongs to another app. False if either app id is missing or has an unknown format. */
export const isOfOtherApp = (appId: unknown, clientId: string): boolean =>
  typeof appId === 'string' &&
  APP_ID.test(appId) &&
  APP_ID.test(appIdOf(clientId)) &&
  appId !== appIdOf(clientId);

/** How long an announced installation waits for the grant of its company (E2). */
export const EXPECTED_MS = 86_400_000;

/** Installations and uninstallations that the CRM announces (E1, E2, E3). They may arrive twice and in any order. */
export function createAppEvents(deps: AppEventsDeps): AppEvents {
  const { grants, mint, check, announceRemoval, now, log } = deps;
  let round: Promise<void> | undefined;
  let asking: Promise<void> | undefined;

  return {
    async handle({ type, locationId, companyId, at, isRepeat }) {
      const ownerId = locationId ?? companyId;
      if (ownerId === null) return;
      const kind = locationId === null ? 'company' : 'location';
      const owner = { kind, ownerId, companyId, at } as const;
      if (type === 'UNINSTALL' && at !== undefined) await uninstall(owner);
      // The event may be late, or a copy of one from before the app was installed again (T66).
      if (type === 'UNINSTALL' && at === undefined) {
        const doubt = await grants.doubt(kind, ownerId);
        if (doubt !== undefined && !isRepeat) void ask(doubt);
      }
      // The tokens of a company only come with its OAuth callback.
      if (type === 'INSTALL' && kind === 'location') {
        const grant = await grants.expect(owner);
        log.info({ event: 'app.installed', locationId: ownerId, grant: grant.state }, 'app installed');
        if (grant.state === 'expected' && !isRepeat) void serve(ownerId, grant.companyId);
      }
    },

    serveExpected() {
      // A company with many locations may take longer than the time between two rounds.
      round ??= serveAll().finally(() => (round = undefined));
      return round;
    },

    askDoubted() {
      asking ??= askAll().finally(() => (asking = undefined));
      return asking;
    },
  };

  async function uninstall(owner: InstallEvent, tokensOf?: Grant): Promise<void> {
    const { kind, ownerId } = owner;
    const stopped = await grants.uninstall(owner, tokensOf);
    for (const stoppedId of stopped) await announceRemoval(stoppedId);
    if (stopped.length > 0)
      log.info({ event: 'app.uninstalled', kind, ownerId, owners: stopped.length }, 'app uninstalled');
  }

  async function askAll(): Promise<void> {
    try {
      for (const doubt of await grants.doubted()) await ask(doubt);
    } catch (error) {
      log.warn({ event: 'app.doubted_failed', err: error }, 'announced uninstallations not read');
    }
  }

  /** Never rejects. */
  async function ask(doubt: Doubt): Promise<void> {
    const { kind, ownerId } = doubt;
    try {
      const { tokens, grant } = await check(kind, ownerId);
      if (tokens === 'rejected' && grant !== undefined)
        return await uninstall({ kind, ownerId, companyId: grant.companyId, at: undefined }, grant);
      if (tokens === 'unknown')
        return log.warn(
          { event: 'app.uninstall_unclear', kind, ownerId },
          'tokens kept, the CRM does not say whether it still accepts them; will retry',
        );
      await grants.trust(doubt);
      log.warn(
        { event: 'app.uninstall_ignored', kind, ownerId },
        'uninstallation without a time ignored, the CRM still accepts the tokens',
      );
    } catch (error) {
      log.warn(
        { event: 'app.uninstall_unclear', kind, ownerId, err: error },
        'tokens kept, the CRM could not be asked whether it still accepts them; will retry',
      );
    }
  }

  async function serveAll(): Promise<void> {
    try {
      const since = now() - EXPECTED_MS;
      // No tokens came in time. Without a grant, the statuses of these locations are skipped (A6).
      for (const ownerId of await grants.removeExpectedBefore(since)) await announceRemoval(ownerId);
      for (const { ownerId, companyId } of await grants.expected(since)) await serve(ownerId, companyId);
    } catch (error) {
      log.warn({ event: 'app.expected_failed', err: error }, 'expected installations not read');
    }
  }

  /** Never rejects. An installation whose request fails remains expected unless the CRM refuses it. */
  async function serve(locationId: string, companyId: string | null): Promise<void> {
    try {
      const companies = companyId === null ? await companiesKnown() : [companyId];
      for (const candidate of companies) if (await mint(locationId, candidate)) return;
    } catch (error) {
      log.warn(
        { event: 'app.tokens_failed', locationId, err: error },
        'tokens of an installed location not received, will retry',
      );
    }
  }

  /** An installation in a later location of a company may not name the company. */
  async function companiesKnown(): Promise<string[]> {
    const all = await grants.list();
    return all
      .filter(({ kind, state }) => kind === 'company' && state === 'active')
      .map(({ ownerId }) => ownerId);
  }
}
