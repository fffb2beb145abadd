import type { Log } from '@footbridge/runtime/log';

import type { Grants } from '../../ports/grants/grants.ts';

/** The fields of a CRM event about the app that are used here. */
export interface AppEvent {
  readonly type: string;
  readonly locationId: string | null;
  readonly companyId: string | null;
  /** When it happened, by the CRM's clock; undefined when the event does not say. */
  readonly at: number | undefined;
}

export interface AppEventsDeps {
  readonly grants: Grants;
  /** Requests the tokens of a location from the grant of its company. Resolves with whether there are tokens now. */
  readonly mint: (locationId: string, companyId: string) => Promise<boolean>;
  /** Tells all nodes that calls with these tokens must stop. */
  readonly announceRemoval: (ownerId: string) => Promise<void>;
  readonly now: () => number;
  readonly log: Log;
}

export interface AppEvents {
  /** Resolves once the event is recorded. Tokens are requested afterwards. Rejects with EngineError when the database is unavailable. */
  handle(event: AppEvent): Promise<void>;
  /** Requests the tokens that are still expected, for example after a restart. Concurrent calls share one round. Never rejects. */
  serveExpected(): Promise<void>;
}

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
export function createAppEvents({ grants, mint, announceRemoval, now, log }: AppEventsDeps): AppEvents {
  let round: Promise<void> | undefined;

  return {
    async handle({ type, locationId, companyId, at }) {
      const ownerId = locationId ?? companyId;
      if (ownerId === null) return;
      const kind = locationId === null ? 'company' : 'location';
      const owner = { kind, ownerId, companyId, at } as const;
      if (type === 'UNINSTALL') {
        const stopped = await grants.uninstall(owner);
        for (const stoppedId of stopped) await announceRemoval(stoppedId);
        if (stopped.length > 0)
          log.info({ event: 'app.uninstalled', kind, ownerId, owners: stopped.length }, 'app uninstalled');
      }
      // The tokens of a company only come with its OAuth callback.
      if (type === 'INSTALL' && kind === 'location') {
        const grant = await grants.expect(owner);
        log.info({ event: 'app.installed', locationId: ownerId, grant: grant.state }, 'app installed');
        if (grant.state === 'expected') void serve(ownerId, grant.companyId);
      }
    },

    serveExpected() {
      // A company with many locations may take longer than the time between two rounds.
      round ??= serveAll().finally(() => (round = undefined));
      return round;
    },
  };

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
