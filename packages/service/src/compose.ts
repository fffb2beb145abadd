import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { systemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import { createFailpoints } from '@footbridge/runtime/failpoints';
import { Lifecycle } from '@footbridge/runtime/lifecycle';
import type { Log } from '@footbridge/runtime/log';
import { WorkMark } from '@footbridge/runtime/work-mark';

import { databasesOf } from './config.ts';
import type { Config } from './config.ts';
import { capture } from './features/capture/feature.ts';
import { consolePages } from './features/console/feature.ts';
import { docs } from './features/docs/feature.ts';
import { doctor } from './features/doctor/feature.ts';
import { issues } from './features/issues/feature.ts';
import { names } from './features/names/feature.ts';
import { oauth } from './features/oauth/feature.ts';
import { oauthApp } from './features/oauth/settings.ts';
import { optOut } from './features/opt-out/feature.ts';
import { privacy } from './features/privacy/feature.ts';
import { reach } from './features/reach/feature.ts';
import { retention } from './features/retention/feature.ts';
import { tenants } from './features/tenants/feature.ts';
import { tracing } from './features/tracing/feature.ts';
import { telemetryOf } from './features/tracing/settings.ts';
import { asyncApiDocument } from './platform/asyncapi/asyncapi-document.ts';
import { BUDGETS } from './platform/budgets.ts';
import { createHost, LAST_STOPS_MS } from './platform/host.ts';
import { createAccessLog } from './platform/http/access-log.ts';
import { allowedHosts } from './platform/http/allowed-hosts.ts';
import { trusts } from './platform/http/client-address.ts';
import { deprecatedRoutes } from './platform/http/deprecated-routes.ts';
import { healthRoutes } from './platform/http/health-routes.ts';
import { startListener } from './platform/http/listener.ts';
import type { Listener } from './platform/http/listener.ts';
import { operatorHosts } from './platform/http/settings.ts';
import { lateClockGuard } from './platform/late-clock-guard.ts';
import type { LateClockGuard } from './platform/late-clock-guard.ts';
import { lockData } from './platform/lock-data.ts';
import { countRejections, createMetrics } from './platform/metrics/metrics.ts';
import type { Metrics } from './platform/metrics/metrics.ts';
import { openApiDocument } from './platform/openapi/openapi-document.ts';
import { auditRoutes } from './platform/operator/audit-routes.ts';
import { createAudit } from './platform/operator/audit-sql.ts';
import { OperatorAuth } from './platform/operator/authenticate-operator.ts';
import { requireOperator } from './platform/operator/operator-auth.ts';
import { journalKeys, operatorToken } from './platform/operator/operator-token.ts';
import { createOperators } from './platform/operator/operators-sql.ts';
import { probeRoutes } from './platform/operator/probe-routes.ts';
import { sessionRoutes, signInRoute } from './platform/operator/session-routes.ts';
import { tokensRoutes } from './platform/operator/tokens-routes.ts';
import { refuseInterruptedRestore } from './platform/restore-marker.ts';
import { Slot } from './platform/extension-points.ts';
import type { PlaceListener } from './platform/extension-points.ts';
import { logDatabase } from './platform/sql/log-database.ts';
import { openDatabase } from './platform/sql/open-database.ts';
import { databaseOf } from './platform/sql/settings.ts';
import { messagesSetAside } from './platform/suspects/find-set-aside.ts';
import { openSuspects } from './platform/suspects/suspects-sql.ts';
import { createAccountTables } from './relay/accounts/account-tables-sql.ts';
import { openAccounts } from './relay/accounts/room.ts';
import { openAssets } from './relay/assets/room.ts';
import { openCrm } from './relay/crm/room.ts';
import { openInbound } from './relay/inbound/room.ts';
import { eventsRoutes } from './relay/journal/events-routes.ts';
import { createJournal } from './relay/journal/journal-sql.ts';
import { keepWithin } from './relay/journal/keep-within.ts';
import { messagesRoutes } from './relay/journal/messages-routes.ts';
import { AS_IN_SETTINGS } from './relay/journal/retention.ts';
import type { Retention } from './relay/journal/retention.ts';
import { NO_TEXTS } from './relay/journal/texts.ts';
import type { Texts } from './relay/journal/texts.ts';
import { openKeys } from './relay/keys/room.ts';
import type { KeySettings } from './relay/keys/settings-keys.ts';
import { openMacs } from './relay/macs/room.ts';
import { keyedHash, createPhones } from './relay/people/handles.ts';
import type { Relay } from './relay/relay.ts';
import { openStatus } from './relay/status/room.ts';
import { separateNodes } from './relay/switchboard/find-separate-nodes.ts';
import { openCluster } from './relay/switchboard/room.ts';
import { SendLedger } from './relay/switchboard/send-ledger.ts';
import { openWebhook } from './relay/webhook/room.ts';
import { UNSIGNED } from './relay/webhook/webhook-route.ts';

export interface Bridge {
  readonly url: string;
  readonly operatorUrl: string;
  readonly operatorToken: string;
  /** `close` takes at most this long, unless an engine hangs. */
  readonly closeWithinMs: number;
  /** Replaces the keys of the settings. Throws StartError when one is invalid; the former ones then stay in use. */
  replaceKeys(settings: KeySettings): Promise<void>;
  /** A bug ends the process: the message in work stays named for the next start (I10). */
  failed(): void;
  close(): Promise<void>;
  /** The part that `close` is waiting for. */
  readonly stopping: string | undefined;
}

export interface Overrides {
  readonly log: Log;
  readonly clock?: Clock;
  /** Warnings about the settings; the diagnosis also shows them to the operator. */
  readonly warnings?: readonly string[];
  /** For tests that shuffle the listeners of an occurrence. */
  readonly placeListener?: PlaceListener | undefined;
}

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
const DAY_MS = 86_400_000;
const MACS_DRAIN_MS = 5000;
/** Responses in flight get this long after the grace period of idle connections. */
const RESPONSES_MS = 2000;
/** A message that takes longer than this needs more than one write. */
const JOURNAL_HOLD_MS = 200;
/** Calls to the CRM in progress get this long. */
const CALLS_MS = 5000;
const ENGINES_MS = 1000;

/** The composition root: the only place that names engines and wires the parts together. */
export async function createBridge(
  config: Config,
  { log, clock = systemClock, warnings = [], placeListener }: Overrides,
): Promise<Bridge> {
  const life = new Lifecycle(
    (name, error) => log.error({ event: 'service.close_failed', part: name, err: error }, 'part not closed'),
    (name) => log.debug({ event: 'service.part_stopped', part: name }, 'part stopped'),
  );
  try {
    const clockGuard = lateClockGuard({ clock, log });
    return await compose(
      { config, log, clock, life, metrics: createMetrics(version), node: randomUUID(), placeListener },
      clockGuard,
      warnings,
    );
  } catch (error) {
    await life.close();
    throw error;
  }
}

/** What the parts need before there is a host. */
interface Context {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
  readonly life: Lifecycle;
  readonly metrics: Metrics;
  readonly node: string;
  readonly placeListener: PlaceListener | undefined;
}

/** Opens the parts in order of dependency. They close in reverse: listeners, Macs, calls in flight, switchboard, Redis, SQL. */
async function compose(
  context: Context,
  clockGuard: LateClockGuard,
  warnings: readonly string[],
): Promise<Bridge> {
  const { config, log, clock, life, metrics } = context;
  lockData(config.dataDir, databasesOf(config).values(), life);
  refuseInterruptedRestore(config.dataDir);
  const crmApp = oauthApp(config);
  const telemetry = telemetryOf(config);
  const failpoint = createFailpoints(config.failpoints);
  const token = operatorToken(config.operatorToken, config.dataDir);
  if (token.made)
    log.info({ event: 'operator.token_created', file: 'DATA_DIR/operator-token' }, 'operator token created');

  const database = await openDatabase(databaseOf(config.databaseUrl, config.dataDir), logDatabase(log));
  life.add('database', () => database.close());
  const mark = new WorkMark(join(config.dataDir, 'in-work'));
  life.add('work mark', () => mark.close());
  const audit = createAudit({ db: database.db, clock });
  const accountTables = createAccountTables({ database, clock, failpoint });
  const { licenses, locations } = accountTables;
  const handleKeys = journalKeys(config.oauthEncryptionKeys ?? [], config.dataDir);
  const isSingleNode = config.redisUrl === undefined;
  const holdMs = isSingleNode ? JOURNAL_HOLD_MS : 0;
  const journal = createJournal({ database, clock, log, handleKeys, holdMs });
  life.add('journal', () => journal.close());
  const hashes = keyedHash(handleKeys);
  const phones = createPhones(config.phoneDefaultCountry);
  const texts = new Slot<Texts>('texts', NO_TEXTS);
  const ownRetention = new Slot<Retention>('retention', AS_IN_SETTINGS);

  const ledger = new SendLedger({
    clock,
    onDrop(requestId, reason) {
      metrics.sendNotConfirmed(reason);
      journal.step(requestId, 'not_confirmed', { detail: { reason } });
    },
  });
  life.add('ledger', () => ledger.shutDown());
  const cluster = await openCluster({ ...context, database, ledger, feed: journal }, config);
  const { switchboard, changes, messageEvents } = cluster;
  const suspects = await openSuspects({
    db: database.db,
    mark,
    announce: () => changes.announce('suspect', '*'),
    onAnnounced: (listener) => changes.listen('suspect', listener),
    clock,
    log,
    count: metrics.setAside,
  });
  const pruneSuspects = (olderThanMs: number) => suspects.prune(clock.now() - olderThanMs);
  const limits = countRejections(cluster.limits, metrics.rateLimited);
  life.add('text capture', () => texts.close());

  // The URL is known once the listener is up; there are no uploads before that.
  const address = { url: config.baseUrl ?? '' };
  const host = createHost({
    db: database.db,
    database,
    clock,
    log,
    metrics,
    node: context.node,
    changes,
    broadcast: cluster.broadcast,
    limits,
    auditLog: audit,
    failpoint,
    placeListener: context.placeListener,
    mayDelete: clockGuard.mayDelete,
    isSingleNode,
    publicUrl: () => address.url,
    life,
  });
  host.finds({ find: () => separateNodes(cluster.separations()) });
  host.finds({
    async find() {
      const from = clock.now() - DAY_MS;
      // A file is delivered, so there is nothing to decide about it.
      return messagesSetAside((await suspects.list()).filter(({ kind, at }) => kind !== 'file' || at > from));
    },
  });
  const keys = await openKeys(host, config);
  const files = await openAssets(host, { licenses, suspects, hashes, retention: ownRetention }, config);
  const crm = openCrm(host, config);
  clockGuard.witnessedBy({
    async ask() {
      const probe = await crm.probe(`${config.crmHost}/`);
      return 'code' in probe ? undefined : (probe.date ?? undefined);
    },
    newestRow: async () => (await journal.list({ limit: 1 })).messages[0]?.createdAt ?? null,
  });
  const statuses = openStatus(
    host,
    { suspects, journal, client: crm.client, switchboard },
    { ...config, oauthReady: crmApp.state === 'ready' },
  );
  const inbound = openInbound(host, { suspects, phones, journal, texts, crm, switchboard, files }, config);
  keepWithin(
    host,
    { journal, retention: ownRetention, also: [(kept) => inbound.prune(kept), pruneSuspects] },
    config,
  );
  host.operatorRoutes(
    messagesRoutes({
      journal,
      suspects,
      redeliver: (locationId, what) => switchboard.send(locationId, { type: 'redeliver', ...what }),
      texts,
      audit,
      phones,
    }),
  );
  const accounts = openAccounts(host, { tables: accountTables, switchboard, grants: crm.grants }, config);
  const macs = openMacs(host, { switchboard, ledger, journal, accounts, files, inbound, statuses }, config);
  const webhook = await openWebhook(
    host,
    { suspects, phones, journal, texts, keys, crm, switchboard, locations, statuses, inbound },
    {
      ...config,
      isTraced: telemetry.traces !== undefined,
    },
  );

  const relay: Relay = {
    people: { phones, hashes },
    journal,
    crm,
    switchboard,
    accounts,
    assets: files,
    conversations: inbound.conversations,
    texts,
    retention: ownRetention,
    optOuts: webhook.optOuts,
    gate: inbound.gate,
    appEvents: webhook.appEvents,
    isForeignApp: webhook.isForeignApp,
    handled: webhook.handled,
    forwarded: webhook.forwarded,
    inboundDelivered: inbound.delivered,
  };
  const startedAt = performance.now();
  const uptimeSec = () => Math.floor((performance.now() - startedAt) / 1000);
  await tracing.start(host, relay, { telemetry, version });
  await oauth.start(host, relay, {
    ...config,
    app: crmApp,
    ownedLocations: (limit) => locations.owned(limit),
  });
  await capture.start(host, relay, {});
  await retention.start(host, relay, config);
  await optOut.start(host, relay, config);
  await reach.start(host, relay, config);
  await privacy.start(host, relay, {});
  await doctor.start(host, relay, { ...config, app: crmApp, version, warnings, uptimeSec });
  await names.start(host, relay, {});
  await tenants.start(host, relay, {});
  await consolePages.start(host, relay, {});
  await docs.start(host, relay, {});
  await issues.start(host, relay, { ...config, clockVerdict: clockGuard.verdict });
  const served = config.accessLog ? createAccessLog(log) : undefined;
  if (served !== undefined)
    webhook.handled.listen(({ method, path, requestId, status, ms, bytes }) =>
      served({ listener: 'public', method, route: path, status, ms, bytes, requestId }),
    );

  const { drainGraceMs } = config;
  // With a single node, a load balancer has no other node to use.
  const noticeMs = isSingleNode ? 0 : drainGraceMs;
  const requests = { idleMs: drainGraceMs, withinMs: drainGraceMs + RESPONSES_MS };
  let draining = false;
  const store = { name: 'store', check: () => database.ping() };
  // Closed after the public listener, so that /readyz and /metrics show the drain.
  let operatorListener: Listener | undefined;
  life.add('operator listener', () => operatorListener?.close({ idleMs: 0, withinMs: RESPONSES_MS }));
  const publicListener = await startListener(
    {
      name: 'public',
      log,
      onServed: served,
      trusted: trusts(config.trustProxy),
      hardening: {
        budgets: [
          ['/crm/', BUDGETS.webhooks],
          ['/mac/assets', BUDGETS.uploads],
          ['/mac/', BUDGETS.enrolment],
          ['/assets/', BUDGETS.downloads],
          ['/health', BUDGETS.health],
        ],
        otherBudget: BUDGETS.other,
        clock,
        // An oversized signature header is an invalid signature like any other (S8).
        oversizedHeaders: [['POST /crm/webhook', { status: '401 Unauthorized', json: UNSIGNED }]],
      },
      raw: webhook.route,
      upgrade: (...upgrade) => macs.handleUpgrade(...upgrade),
      routes: [
        deprecatedRoutes({ log, count: metrics.deprecatedPath }),
        healthRoutes({
          version,
          startedAt,
          checks: [store, ...cluster.checks],
          limits,
          perMinute: config.healthPerMinute,
          probePerMinute: config.healthProbePerMinute,
        }),
        ...host.registered.publicRoutes,
      ],
    },
    { host: config.host, port: config.port },
  );
  if (address.url === '') address.url = publicListener.url;
  life.add('public listener', () => publicListener.close(requests));
  life.add('Macs', async () => {
    // During this time a load balancer sees that /readyz fails, and stops sending requests here.
    await Promise.all([macs.drain(MACS_DRAIN_MS), noticeMs > 0 && clock.sleep(noticeMs)]);
  });

  const operators = createOperators({ db: database.db, clock });
  const operatorAuth = new OperatorAuth({ token: token.token, operators, clock });
  host.expires('operator.prune_failed', () => operatorAuth.prune());
  operatorListener = await startListener(
    {
      name: 'operator',
      log,
      onServed: served,
      trusted: () => false,
      hardening: { budgets: [], otherBudget: BUDGETS.operator, clock },
      isAllowedHost: allowedHosts(operatorHosts(config)),
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
        ...host.registered.pages,
        signInRoute({ auth: operatorAuth, limits, audit }),
        (app) => {
          requireOperator({ auth: operatorAuth, limits })(app);
          sessionRoutes({ auth: operatorAuth })(app);
          eventsRoutes({ events: messageEvents, auth: operatorAuth, clock })(app);
          tokensRoutes({ auth: operatorAuth, operators, audit })(app);
          auditRoutes({ audit })(app);
          for (const routes of host.registered.operatorRoutes) routes(app);
        },
      ],
    },
    { host: config.adminHost, port: config.adminPort },
  );
  host.registered.startWatches();
  // Closed before the parts that suspects wait in.
  life.add('suspects', () => suspects.close());
  life.add('readiness', () => {
    draining = true;
  });

  return {
    url: publicListener.url,
    operatorUrl: operatorListener.url,
    operatorToken: token.token,
    closeWithinMs:
      Math.max(MACS_DRAIN_MS, noticeMs) + requests.withinMs + CALLS_MS + ENGINES_MS + LAST_STOPS_MS,
    replaceKeys: (settings) => keys.replaceKeys(settings),
    failed: () => mark.freeze(),
    close: () => life.close(),
    get stopping() {
      return life.stopping;
    },
  };
}
