import { every } from '@footbridge/runtime/clock';

import type { Feature, Host } from '../../platform/host.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { logTokenDatabase } from '../../platform/sql/log-database.ts';
import type { CrmGrants } from '../../relay/crm/tokens.ts';
import type { CRM } from '../../relay/crm/settings.ts';
import type { Relay } from '../../relay/relay.ts';
import { APP_EVENTS, isOfOtherApp } from './app-events.ts';
import { crmAppRoutes } from './crm-app-routes.ts';
import { createGrants } from './grants-sql.ts';
import { unreadableTokens } from './find-unreadable-tokens.ts';
import type { Grants } from './grants-sql.ts';
import { grantsRoutes } from './grants-routes.ts';
import { oauthRoutes } from './oauth-routes.ts';
import { createPrivateTokens, privateTokenCheck } from './private-tokens.ts';
import type { OAUTH, OAuthApp } from './settings.ts';
import { createTokenEndpoint } from './token-endpoint-http.ts';
import { createTokens } from './tokens.ts';
import { createVault } from './vault.ts';

export type OAuthSettings = ValuesOf<typeof OAUTH & typeof CRM> & {
  readonly app: OAuthApp;
  /** The locations that a license owns, at most `limit` of them. */
  readonly ownedLocations: (limit: number) => Promise<readonly string[]>;
};

const SERVE_EVENTS_MS = 60_000;

/** The tokens for calls to the CRM: OAuth grants with their refreshes, or private integration tokens. */
export const oauth: Feature<Pick<Relay, 'crm' | 'appEvents' | 'isForeignApp'>, OAuthSettings> = {
  name: 'oauth',
  async start(host, relay, settings) {
    const { changes, clock, log, metrics } = host;
    const { ownedLocations, app } = settings;
    const privateTokens = {
      single: settings.pitToken,
      byLocation: settings.pitTokens ?? new Map<string, string>(),
    };
    const isReady = app.state === 'ready';
    const grants = await openGrants(host, settings);
    const tokens = createTokens({
      ...host,
      oauth:
        isReady && grants !== undefined
          ? {
              grants,
              endpoint: createTokenEndpoint({
                transport: relay.crm.transport,
                crmHost: settings.crmHost,
                apiVersion: settings.apiVersion,
                ...app,
              }),
              thresholdSec: app.refreshThresholdSec,
            }
          : undefined,
      privateToken: isReady
        ? undefined
        : createPrivateTokens({ ...privateTokens, grants, ownedLocations, log }),
      refreshed: (result) => metrics.tokenRefresh(result),
    });
    relay.crm.tokens.fillWith(tokens, () => tokens.close());
    const held: CrmGrants = {
      // Without OAuth, stored grants are not used.
      listLocationIds: async (page) => (isReady ? await grants?.listLocationIds(page) : undefined) ?? [],
      ofLocations: async (ids) => (isReady ? await grants?.ofLocations(ids) : undefined) ?? [],
      privateTokens: async () =>
        isReady ? () => 'none' : await privateTokenCheck({ ...privateTokens, grants, ownedLocations }),
      async has(locationId) {
        const ofLocation = await grants?.ofLocations([locationId]);
        if (ofLocation !== undefined && ofLocation.length > 0) return true;
        return ((await grants?.privateTokens()) ?? []).some((token) => token.locationId === locationId);
      },
      async remove(locationId) {
        await grants?.remove('location', locationId);
        await grants?.removePrivateToken(locationId);
        await changes.announce('grant_removed', locationId);
      },
    };
    relay.crm.grants.fillWith(held);
    if (isReady) relay.isForeignApp.fillWith((appId) => isOfOtherApp(appId, app.clientId));
    host.finds({
      find: async () =>
        unreadableTokens(
          ((await grants?.unreadable()) ?? []).filter(({ kind }) => (kind === 'private') === !isReady),
        ),
    });

    const { appEvents } = tokens;
    if (appEvents !== undefined) {
      for (const type of APP_EVENTS) relay.appEvents.set(type, (event) => appEvents.handle(event));
      const serve = () => {
        void appEvents.serveExpected();
        void appEvents.askDoubted();
      };
      serve();
      host.stops('expected installations', every(clock, SERVE_EVENTS_MS, serve));
    }
    host.publicRoutes(
      oauthRoutes({
        oauth: app,
        install: (code) => tokens.install(code),
        limits: host.limits,
        perMinute: settings.oauthPerMinute,
        log,
      }),
    );
    host.operatorRoutes(
      grantsRoutes({ grants, changes, audit: host.auditLog }),
      crmAppRoutes({ oauth: app, publicUrl: host.publicUrl }),
    );
  },
};

/** Resolves with undefined without a key that encrypts tokens. */
async function openGrants(host: Host, settings: OAuthSettings): Promise<Grants | undefined> {
  const { oauthEncryptionKeys: keys } = settings;
  const { clock, log } = host;
  if (keys === undefined) return undefined;
  const grants = createGrants({
    database: await openTokens(host, settings),
    clock,
    vault: createVault(keys),
  });
  const { encrypted, unreadable } = await grants.rotate();
  if (encrypted > 0)
    log.info(
      { event: 'token.keys_rotated', tokens: encrypted },
      'tokens encrypted with the newest key; older keys can be removed',
    );
  if (unreadable > 0)
    log.warn(
      { event: 'token.unreadable', tokens: unreadable },
      'no key of CRM_OAUTH_ENCRYPTION_KEY decrypts these tokens; add the former key again, or authorise and set them again',
    );
  return grants;
}

/** CRM_OAUTH_DATABASE_URL may name a separate database. */
async function openTokens(host: Host, { app }: OAuthSettings): Promise<OpenDatabase> {
  if (app.state !== 'ready' || app.database === undefined) return host.database;
  const own = await openDatabase(app.database, logTokenDatabase(host.log));
  host.stopsLast('token database', () => own.close());
  return own;
}
