import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';

import { composeAssets } from './bridge-assets.ts';
import { composeCluster } from './bridge-cluster.ts';
import { composeCrm } from './bridge-crm.ts';
import { composeMacs } from './bridge-macs.ts';
import { sleep, systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config/config.ts';
import { trusts } from './edges/http/client-address.ts';
import { deprecatedRoutes } from './edges/http/deprecated-routes.ts';
import { HARDENING } from './edges/http/hardened-server.ts';
import { healthRoutes } from './edges/http/health-routes.ts';
import { startListener } from './edges/http/listener.ts';
import type { Listener } from './edges/http/listener.ts';
import { webhookRoute } from './edges/http/webhook-route.ts';
import { keyRoutes } from './edges/operator/keys-routes.ts';
import { requireOperator } from './edges/operator/operator-auth.ts';
import { probeRoutes } from './edges/operator/probe-routes.ts';
import { createFailpoint } from './failpoint.ts';
import { receiveWebhook } from './flows/outbound/receive-webhook.ts';
import { Lifecycle } from './lifecycle.ts';
import type { Logger } from './log.ts';
import { createMetrics } from './metrics.ts';
import { operatorToken } from './operator-token.ts';
import { asyncApiDocument } from './asyncapi/asyncapi-document.ts';
import { openApiDocument } from './openapi/openapi-document.ts';
import { createSqlAudit } from './ports/audit/audit-sql.ts';
import { createSqlJournal } from './ports/journal/journal-sql.ts';
import { openKeyRing } from './ports/keys/key-ring.ts';
import { openCrmKeys } from './ports/keys/keys-sql.ts';
import { settingsKeys } from './ports/keys/settings-keys.ts';
import { createSqlLicenses } from './ports/licenses/licenses-sql.ts';
import { createMemoryLimits } from './ports/limits/limits-memory.ts';
import { sodium } from './sodium.ts';
import { openDatabase } from './sql/open-database.ts';

export interface Bridge {
  readonly url: string;
  readonly operatorUrl: string;
  readonly operatorToken: string;
  /** `close` takes at most this long, unless an engine hangs. */
  readonly closeWithinMs: number;
  close(): Promise<void>;
}

export interface Overrides {
  readonly log: Logger;
  readonly clock?: Clock;
}

/** What every part of the composition may need. Only the bridge holds all of it: parts receive what they use. */
export interface Ground {
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly life: Lifecycle;
  readonly metrics: ReturnType<typeof createMetrics>;
  /** This process, under another name after every start. */
  readonly node: string;
}

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
const MACS_DRAIN_MS = 5000;
/** Responses under way get this long after the grace period of idle connections. */
const RESPONSES_MS = 2000;
const ENGINES_MS = 1000;
const UPLOADS = '/mac/assets';

/** The composition root: the one place that names engines and knows who needs whom. */
export async function createBridge(config: Config, { log, clock = systemClock }: Overrides): Promise<Bridge> {
  const life = new Lifecycle((name, error) => log.error({ part: name, err: error }, 'closing failed'));
  try {
    return await compose({ config, log, clock, life, metrics: createMetrics(), node: randomUUID() });
  } catch (error) {
    await life.close();
    throw error;
  }
}

/** Opened from the ground up, closed from the top down: listeners, Macs, calls under way, switchboard, Redis, SQL. */
async function compose(ground: Ground): Promise<Bridge> {
  const { config, log, clock, life, metrics } = ground;
  const failpoint = createFailpoint(config.failpoints);
  const token = operatorToken(config.operatorToken, config.dataDir);
  if (token.made) log.info({ file: 'DATA_DIR/operator-token' }, 'operator token made');

  const database = await openDatabase(config.database, (part, error) =>
    log.warn({ event: `sql.${part}_failed`, err: error }, `database ${part} failed`),
  );
  life.add('database', () => database.close());
  const audit = createSqlAudit({ db: database.db, clock });
  const licenses = createSqlLicenses({ database, clock, failpoint });
  const journal = createSqlJournal({ database, clock, log });
  life.add('journal', () => journal.close());

  const cluster = await composeCluster(ground, database);
  const { switchboard, changes, limits } = cluster;

  const keys = openCrmKeys(database.db, () => clock.now());
  const fixedKeys = settingsKeys(config.crm);
  const ring = await openKeyRing({
    stored: keys,
    fixed: fixedKeys,
    clock,
    log,
  });
  life.add('keys', () => ring.close());
  life.add(
    'key changes',
    changes.listen('keys', () => void ring.reload()),
  );
  if (sodium === null)
    log.warn(
      { event: 'keys.libsodium_missing' },
      'libsodium cannot be loaded on this platform; signatures are verified by OpenSSL at twice the cost',
    );
  if (ring.size === 0)
    log.warn({}, 'no CRM key is trusted: every webhook will get 401; add one with footbridge keys add');

  // The address is known once the listener is up; nothing is uploaded before.
  const address = { url: config.listeners.baseUrl ?? '' };
  const files = await composeAssets(ground, database, () => address.url);
  const crm = await composeCrm(ground, {
    database,
    changes,
    journal,
    licenses,
    switchboard,
    limits,
    audit,
    files,
    failpoint,
  });
  const macs = composeMacs(ground, {
    licenses,
    switchboard,
    changes,
    limits,
    journal,
    audit,
    takeUpload: files.take,
    crm,
  });

  const receive = receiveWebhook({
    keys: ring,
    limits,
    unsigned: createMemoryLimits(clock),
    contacts: crm.contacts,
    forwarding: switchboard,
    reports: crm.statuses,
    journal,
    clock,
    log,
    settings: config.limits,
  });

  const { drainGraceMs } = config.listeners;
  // A single node has no other that a load balancer could turn to.
  const noticeMs = config.cluster.engine === 'memory' ? 0 : drainGraceMs;
  const requests = { idleMs: drainGraceMs, withinMs: drainGraceMs + RESPONSES_MS };
  let draining = false;
  const store = { name: 'store', check: () => database.ping() };
  // Closed after the public one: /readyz and /metrics tell of the draining.
  let operatorListener: Listener | undefined;
  life.add('operator listener', () => operatorListener?.close({ idleMs: 0, withinMs: RESPONSES_MS }));
  const publicListener = await startListener(
    {
      name: 'public',
      log,
      trusted: trusts(config.listeners.trustProxy),
      hardening: { ...HARDENING, slowBody: (url) => url.startsWith(UPLOADS) },
      raw: webhookRoute({
        receive,
        onResponse: ({ status, code }, ms) => metrics.webhook(status, code, ms / 1000),
        onUnsigned: metrics.signatureRefused,
      }),
      upgrade: macs.upgrade,
      routes: [
        deprecatedRoutes,
        healthRoutes({
          version,
          startedAt: performance.now(),
          checks: [store, ...cluster.checks],
          limits,
          perMinute: config.limits.healthPerMinute,
          probePerMinute: config.limits.healthProbePerMinute,
        }),
        ...crm.publicRoutes,
        ...macs.publicRoutes,
        ...files.publicRoutes,
      ],
    },
    config.listeners.public,
  );
  if (address.url === '') address.url = publicListener.url;
  life.add('public listener', () => publicListener.close(requests));
  life.add('Macs', async () => {
    // Meanwhile a load balancer sees that /readyz fails, and stops sending requests here.
    await Promise.all([macs.drain(MACS_DRAIN_MS), noticeMs > 0 && sleep(clock, noticeMs)]);
  });

  operatorListener = await startListener(
    {
      name: 'operator',
      log,
      trusted: () => false,
      routes: [
        probeRoutes({
          draining: () => draining,
          required: cluster.checks,
          optional: [store],
          metrics: metrics.render,
          documents: {
            '/openapi.json': openApiDocument({ version, url: address.url }),
            '/asyncapi.json': asyncApiDocument({ version, url: address.url }),
          },
        }),
        (app) => {
          requireOperator(token.token, limits)(app);
          keyRoutes({ keys, fixed: fixedKeys, reload: () => ring.reload(), changes, audit })(app);
          for (const routes of [...crm.operatorRoutes, ...macs.operatorRoutes, ...files.operatorRoutes])
            routes(app);
        },
      ],
    },
    config.listeners.operator,
  );
  life.add('readiness', () => {
    draining = true;
  });

  return {
    url: publicListener.url,
    operatorUrl: operatorListener.url,
    operatorToken: token.token,
    closeWithinMs: Math.max(MACS_DRAIN_MS, noticeMs) + requests.withinMs + ENGINES_MS,
    close: () => life.close(),
  };
}
