import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import type { MessageReceivedFrame, SendFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';
import { readConsole } from '@footbridge/console/console-files';
import { findSite } from '@footbridge/site/site-files';
import { systemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import { createFailpoints } from '@footbridge/runtime/failpoints';
import { Lifecycle } from '@footbridge/runtime/lifecycle';
import type { Log } from '@footbridge/runtime/log';
import { WorkMark } from '@footbridge/runtime/work-mark';

import { BUDGETS } from '../platform/budgets.ts';
import type { Config } from '../platform/settings/config.ts';
import { createAccessLog } from '../platform/http/access-log.ts';
import { appEventsRoutes } from '../relay/webhook/app-events-routes.ts';
import { allowedHosts } from '../platform/http/allowed-hosts.ts';
import { trusts } from '../platform/http/client-address.ts';
import { deprecatedRoutes } from '../platform/http/deprecated-routes.ts';
import { healthRoutes } from '../platform/http/health-routes.ts';
import { startListener } from '../platform/http/listener.ts';
import type { Listener } from '../platform/http/listener.ts';
import { UNSIGNED } from '../relay/webhook/webhook-response.ts';
import { webhookRoute } from '../relay/webhook/webhook-route.ts';
import { auditRoutes } from '../platform/operator/audit-routes.ts';
import { crmAppRoutes } from '../features/oauth/crm-app-routes.ts';
import { diagnosisRoutes } from '../features/doctor/diagnosis-routes.ts';
import { docsRoutes } from '../features/docs/docs-routes.ts';
import { eventsRoutes } from '../relay/journal/events-routes.ts';
import { keyRoutes } from '../relay/keys/keys-routes.ts';
import { requireOperator } from '../platform/operator/operator-auth.ts';
import { consoleRoutes } from '../features/console/console-routes.ts';
import { sessionRoutes, signInRoute } from '../platform/operator/session-routes.ts';
import { tokensRoutes } from '../platform/operator/tokens-routes.ts';
import { tenantsRoutes } from '../features/tenants/tenants-routes.ts';
import { probeRoutes } from '../platform/operator/probe-routes.ts';
import { Handovers } from '../relay/accounts/handovers.ts';
import { RecentOccurrences } from '../features/issues/recent-occurrences.ts';
import { capture } from '../features/capture/feature.ts';
import { optOut } from '../features/opt-out/feature.ts';
import { privacy } from '../features/privacy/feature.ts';
import { reach } from '../features/reach/feature.ts';
import { retention } from '../features/retention/feature.ts';
import { OperatorAuth } from '../platform/operator/authenticate-operator.ts';
import { isOfOtherApp } from '../features/oauth/app-events.ts';
import { RecentRejections } from '../relay/keys/recent-rejections.ts';
import { ReplayMemory } from '../relay/webhook/recognise-replay.ts';
import { receiveWebhook } from '../relay/webhook/receive-webhook.ts';
import { SignatureCheck } from '../relay/keys/verify-signature.ts';
import type { SignatureFault } from '../relay/keys/verify-signature.ts';
import { lineOf, listTenants } from '../features/tenants/tenants.ts';
import { LineWatch } from '../features/tenants/watch-lines.ts';
import { refuseInterruptedRestore } from '../maintenance/restore-marker.ts';
import { createMetrics } from '../platform/metrics/metrics.ts';
import { journalKeys, operatorToken } from '../platform/operator/operator-token.ts';
import { asyncApiDocument } from '../platform/asyncapi/asyncapi-document.ts';
import { openApiDocument } from '../platform/openapi/openapi-document.ts';
import { createSqlAudit } from '../platform/operator/audit-sql.ts';
import { createSqlJournal } from '../relay/journal/journal-sql.ts';
import { keyedHash } from '../relay/people/keyed-hash.ts';
import { createPhones } from '../relay/people/phones.ts';
import { openKeyRing } from '../relay/keys/key-ring.ts';
import { openCrmKeys } from '../relay/keys/keys-sql.ts';
import { settingsKeys } from '../relay/keys/settings-keys.ts';
import type { KeySettings } from '../relay/keys/settings-keys.ts';
import { createSqlLicenses } from '../relay/accounts/licenses-sql.ts';
import { createSqlOperators } from '../platform/operator/operators-sql.ts';
import { countRejections } from '../platform/limits/count-rejections.ts';
import { createMemoryLimits } from '../platform/limits/limits-memory.ts';
import { openSqlSuspects } from '../platform/suspects/suspects-sql.ts';
import { createSqlSeenRequests } from '../relay/webhook/seen-requests-sql.ts';
import { createHost } from '../platform/host.ts';
import { Occurrence } from '../platform/occurrence.ts';
import { Slot } from '../platform/slot.ts';
import { keepFiles } from '../relay/assets/files-of-person.ts';
import { OPEN } from '../relay/inbound/gate.ts';
import type { Gate } from '../relay/inbound/gate.ts';
import { AS_IN_SETTINGS } from '../relay/journal/retention.ts';
import type { Retention } from '../relay/journal/retention.ts';
import { NO_TEXTS } from '../relay/journal/texts.ts';
import type { Texts } from '../relay/journal/texts.ts';
import type { Relay } from '../relay/relay.ts';
import type { HandleAppEvent } from '../relay/webhook/app-events.ts';
import { NOBODY } from '../relay/webhook/check-opt-out.ts';
import type { IsSuppressed } from '../relay/webhook/check-opt-out.ts';
import { SendLedger } from '../relay/switchboard/send-ledger.ts';
import { RecentCache } from '../platform/recent-cache.ts';
import { sodium } from '../platform/sodium.ts';
import { openDatabase } from '../platform/sql/open-database.ts';
import { composeAlerts } from './compose-alerts.ts';
import { composeAssets } from './compose-assets.ts';
import { composeCluster } from './compose-cluster.ts';
import { composeCrm } from './compose-crm.ts';
import { composeIssues } from './compose-issues.ts';
import { composeMacs } from './compose-macs.ts';
import { composeTelemetry } from './compose-telemetry.ts';
import type { BridgeContext } from './context.ts';
import { lockData } from './lock-data.ts';
import { logLock } from './log-lock.ts';
import { composeClockGuard } from './compose-clock-guard.ts';
import type { LateClockGuard } from './compose-clock-guard.ts';
import { pruneHourly } from './prune-hourly.ts';

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
}

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };
const MACS_DRAIN_MS = 5000;
/** Responses in flight get this long after the grace period of idle connections. */
const RESPONSES_MS = 2000;
/** A message that takes longer than this needs more than one write. */
const JOURNAL_HOLD_MS = 200;
/** Calls to the CRM in progress get this long. */
const CALLS_MS = 5000;
const ENGINES_MS = 1000;
const QUARTER_HOUR_MS = 900_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const EVENTS_KEPT_MS = 7 * DAY_MS;
const KEPT_KEY_USES = 1000;

/** The composition root: the only place that names engines and wires the parts together. */
export async function createBridge(
  config: Config,
  { log, clock = systemClock, warnings = [] }: Overrides,
): Promise<Bridge> {
  const life = new Lifecycle(
    (name, error) => log.error({ event: 'service.close_failed', part: name, err: error }, 'part not closed'),
    (name) => log.debug({ event: 'service.part_stopped', part: name }, 'part stopped'),
  );
  try {
    const clockGuard = composeClockGuard({ clock, log });
    const { mayDelete } = clockGuard;
    return await compose(
      { config, log, clock, life, metrics: createMetrics(version), mayDelete, node: randomUUID() },
      clockGuard,
      warnings,
    );
  } catch (error) {
    await life.close();
    throw error;
  }
}

/** Opens the parts in order of dependency. They close in reverse: listeners, Macs, calls in flight, switchboard, Redis, SQL. */
async function compose(
  context: BridgeContext,
  clockGuard: LateClockGuard,
  warnings: readonly string[],
): Promise<Bridge> {
  const { config, log, clock, life, metrics } = context;
  lockData(config, life);
  refuseInterruptedRestore(config.dataDir);
  const failpoint = createFailpoints(config.failpoints);
  const token = operatorToken(config.operatorToken, config.dataDir);
  if (token.made)
    log.info({ event: 'operator.token_created', file: 'DATA_DIR/operator-token' }, 'operator token created');

  const database = await openDatabase(config.database, (happened) => {
    if (happened.type === 'checkpoint_failed')
      log.warn({ event: 'sql.checkpoint_failed', err: happened.error }, 'WAL checkpoint failed');
    else if (happened.type === 'connection_lost')
      log.warn({ event: 'sql.connection_lost', err: happened.error }, 'database connection lost');
    else logLock(log, 'main', happened);
  });
  life.add('database', () => database.close());
  const mark = new WorkMark(join(config.dataDir, 'in-work'));
  life.add('work mark', () => mark.close());
  const audit = createSqlAudit({ db: database.db, clock });
  const licenses = createSqlLicenses({ database, clock, failpoint });
  const handleKeys = journalKeys(config.privateTokens.encryptionKeys, config.dataDir);
  const isSingleNode = config.cluster.engine === 'memory';
  const holdMs = isSingleNode ? JOURNAL_HOLD_MS : 0;
  const journal = createSqlJournal({ database, clock, log, handleKeys, holdMs });
  life.add('journal', () => journal.close());
  const telemetry = await composeTelemetry(context, journal, version);
  const handleHash = keyedHash(handleKeys);
  const phones = createPhones(config.limits.phoneDefaultCountry);
  const slots = {
    texts: new Slot<Texts>('texts', NO_TEXTS),
    retention: new Slot<Retention>('retention', AS_IN_SETTINGS),
    optOuts: new Slot<IsSuppressed>('optOuts', NOBODY),
    gate: new Slot<Gate>('gate', OPEN),
    appEvents: new Map<string, HandleAppEvent>(),
    forwarded: new Occurrence<[LocationId, SendFrame]>(),
    inboundDelivered: new Occurrence<[LocationId, MessageReceivedFrame]>(),
  };

  const ledger = new SendLedger({
    clock,
    onDrop(requestId, reason) {
      metrics.sendNotConfirmed(reason);
      journal.step(requestId, 'not_confirmed', { detail: { reason } });
    },
  });
  life.add('ledger', () => ledger.shutDown());
  const cluster = await composeCluster(context, database, ledger, journal);
  const { switchboard, changes, messageEvents } = cluster;
  const suspects = await openSqlSuspects({
    db: database.db,
    mark,
    announce: () => changes.announce('suspect', '*'),
    onAnnounced: (listener) => changes.listen('suspect', listener),
    clock,
    log,
    count: metrics.setAside,
  });
  const limits = countRejections(cluster.limits, metrics.rateLimited);
  life.add('text capture', () => slots.texts.close());

  const keys = openCrmKeys(database.db, () => clock.now());
  let fixedKeys = settingsKeys(config.crm);
  const ring = await openKeyRing({
    stored: keys,
    fixed: () => fixedKeys,
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
  const warnWithoutKeys = () => {
    if (ring.size === 0)
      log.warn(
        { event: 'keys.none_trusted' },
        'no CRM key is trusted, so every webhook gets 401; add a key with footbridge keys add',
      );
  };
  warnWithoutKeys();

  // The URL is known once the listener is up; there are no uploads before that.
  const address = { url: config.listeners.baseUrl ?? '' };
  const files = await composeAssets(
    context,
    { database, suspects, handleHash, retention: slots.retention },
    () => address.url,
  );
  const host = createHost({
    db: database.db,
    clock,
    log,
    metrics,
    node: context.node,
    changes,
    broadcast: cluster.broadcast,
    isSingleNode,
    publicUrl: () => address.url,
    life,
    auditLog: audit,
  });
  const crm = await composeCrm(context, {
    database,
    changes,
    journal,
    licenses,
    switchboard,
    limits,
    audit,
    files,
    suspects,
    phones,
    host,
    slots,
    failpoint,
  });
  clockGuard.witnessedBy({
    async ask() {
      const probe = await crm.probe(`${config.crm.host}/`);
      return 'code' in probe ? undefined : (probe.date ?? undefined);
    },
    newestRow: async () => (await journal.list({ limit: 1 })).messages[0]?.createdAt ?? null,
  });
  const now = () => clock.now();
  const occurrences = {
    rejectedSignatures: new RecentOccurrences(now, QUARTER_HOUR_MS),
    contended: new RecentOccurrences(now, QUARTER_HOUR_MS),
    seatsRefused: new RecentOccurrences(now, HOUR_MS),
  };
  const lines = new LineWatch({ journal, now });
  const lineTraffic = { traffic: (locationId: string) => lines.of(locationId), now };
  const macs = composeMacs(context, {
    liveness: (location) => lineOf(lineTraffic, location),
    occurrences,
    licenses,
    switchboard,
    ledger,
    changes,
    limits,
    journal,
    audit,
    takeUpload: files.take,
    publicUrl: () => address.url,
    crm,
  });

  const served = config.accessLog ? createAccessLog(log) : undefined;
  const unsigned = createMemoryLimits(clock);
  const rejections = new RecentRejections(() => clock.now());
  const onUnsigned = (fault: SignatureFault) => {
    metrics.signatureRejected(fault.step);
    rejections.add(fault);
  };
  const keyUses = new RecentCache<string, number>(KEPT_KEY_USES);
  const onVerified = ({ id }: { id: string }) => keyUses.set(id, clock.now());
  const seen = createSqlSeenRequests({ db: database.db, clock });
  life.add(
    'pruning of signed requests',
    pruneHourly(context, 'replay.prune_failed', () => seen.prune()),
  );
  const handovers = await Handovers.open({ licenses, changes, clock, log });
  life.add('handovers', () => handovers.close());
  const receive = receiveWebhook({
    keys: ring,
    onVerified,
    limits,
    unsigned,
    contacts: crm.contacts,
    forwarding: crm.forwarding,
    reports: crm.statuses,
    optOuts: slots.optOuts,
    journal,
    suspects,
    phones,
    texts: slots.texts,
    onForwarded: metrics.routed,
    replays: config.limits.replayMemory
      ? new ReplayMemory({ seen, kind: 'webhook', keptMs: DAY_MS, clock, log })
      : undefined,
    onReplay: () => metrics.duplicate('webhook'),
    handedOverAt: (locationId) => handovers.of(locationId),
    onDelivered: () => metrics.duplicate('message'),
    clock,
    log,
    failpoint,
    settings: {
      ...config.limits,
      acceptedTypes: config.crm.acceptedTypes,
      sendAltId: config.crm.sendAltId,
      isTraced: telemetry.traceWebhook !== undefined,
    },
  });

  const relay: Relay = {
    ...slots,
    people: { phones, hashes: handleHash },
    switchboard,
    assets: files,
    journal,
    updateContact: crm.updateContact,
  };
  host.keepsAboutPeople({
    section: 'contacts',
    async read({ handles, locationIds }) {
      const all = crm.contacts.contactsOf(handles);
      return all.filter(({ locationId }) => locationIds === undefined || locationIds.includes(locationId));
    },
    forget: (locationId) => crm.contacts.forgetContacts(locationId),
  });
  keepFiles(host, relay.assets);
  await capture.start(host, relay, {});
  await retention.start(host, relay, {
    journalDays: config.retentionDays,
    assetDays: config.assets.retentionDays,
  });
  await optOut.start(host, relay, { enforced: config.crm.optOutEnforced, words: config.crm.optOutWords });
  await reach.start(host, relay, { reachFields: config.crm.reachFields });
  await privacy.start(host, relay, {});

  const startedAt = performance.now();
  const { drainGraceMs } = config.listeners;
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
      trusted: trusts(config.listeners.trustProxy),
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
      raw: webhookRoute({
        receive,
        onResponse(handled) {
          const { method, path, requestId, status, code, ms, bytes } = handled;
          metrics.webhook(path, status, code, ms / 1000);
          telemetry.traceWebhook?.(handled);
          served?.({ listener: 'public', method, route: path, status, ms, bytes, requestId });
        },
        onUnsigned(fault) {
          onUnsigned(fault);
          if (fault.header !== null) occurrences.rejectedSignatures.add('webhooks');
        },
      }),
      upgrade: macs.upgrade,
      routes: [
        deprecatedRoutes({ log, count: metrics.deprecatedPath }),
        healthRoutes({
          version,
          startedAt,
          checks: [store, ...cluster.checks],
          limits,
          perMinute: config.limits.healthPerMinute,
          probePerMinute: config.limits.healthProbePerMinute,
        }),
        appEventsRoutes({
          signatures: new SignatureCheck({
            keys: ring,
            unsigned,
            onVerified,
            unsignedPerMinute: config.limits.unsignedPerMinute,
          }),
          handlers: slots.appEvents,
          replays: new ReplayMemory({ seen, kind: 'event', keptMs: EVENTS_KEPT_MS, clock, log }),
          onReplay: () => metrics.duplicate('event'),
          isForeign: (appId) => config.oauth.state === 'ready' && isOfOtherApp(appId, config.oauth.clientId),
          now: () => clock.now(),
          log,
          onUnsigned,
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
    // During this time a load balancer sees that /readyz fails, and stops sending requests here.
    await Promise.all([macs.drain(MACS_DRAIN_MS), noticeMs > 0 && clock.sleep(noticeMs)]);
  });

  const issuesApi = composeIssues(context, {
    database,
    journal,
    suspects,
    overview: macs.overview,
    tenants: crm.tenants,
    unreadableTokens: crm.unreadableTokens,
    clockVerdict: clockGuard.verdict,
    lines,
    occurrences,
    separations: cluster.separations,
  });
  const alertsApi = composeAlerts(context, database, failpoint);
  const operators = createSqlOperators({ db: database.db, clock });
  const operatorAuth = new OperatorAuth({ token: token.token, operators, clock });
  life.add(
    'pruning of sessions',
    pruneHourly(context, 'operator.prune_failed', () => operatorAuth.prune()),
  );
  operatorListener = await startListener(
    {
      name: 'operator',
      log,
      onServed: served,
      trusted: () => false,
      hardening: { budgets: [], otherBudget: BUDGETS.operator, clock },
      isAllowedHost: allowedHosts(config.listeners.operatorHosts),
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
        consoleRoutes(readConsole()),
        docsRoutes(findSite),
        signInRoute({ auth: operatorAuth, limits, audit }),
        (app) => {
          requireOperator({ auth: operatorAuth, limits })(app);
          sessionRoutes({ auth: operatorAuth })(app);
          eventsRoutes({ events: messageEvents, auth: operatorAuth, clock })(app);
          tokensRoutes({ auth: operatorAuth, operators, audit })(app);
          auditRoutes({ audit })(app);
          crmAppRoutes({ oauth: config.oauth, publicUrl: () => address.url })(app);
          diagnosisRoutes({
            version,
            config,
            warnings,
            uptimeSec: () => Math.floor((performance.now() - startedAt) / 1000),
            publicUrl: () => address.url,
            now,
            probe: crm.probe,
          })(app);
          keyRoutes({
            keys,
            fixed: () => fixedKeys,
            lastUsed: (id) => keyUses.get(id),
            reload: () => ring.reload(),
            rejections: () => rejections.list(),
            changes,
            audit,
          })(app);
          tenantsRoutes({
            tenants: (query) =>
              listTenants(
                { ...crm.tenants, ...lineTraffic, locations: () => macs.overview.recentLocations(), journal },
                query,
              ),
          })(app);
          issuesApi(app);
          alertsApi(app);
          for (const routes of [
            ...host.registered.operatorRoutes,
            ...crm.operatorRoutes,
            ...macs.operatorRoutes,
            ...files.operatorRoutes,
          ])
            routes(app);
        },
      ],
    },
    config.listeners.operator,
  );
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
      Math.max(MACS_DRAIN_MS, noticeMs) + requests.withinMs + CALLS_MS + ENGINES_MS + telemetry.closeWithinMs,
    async replaceKeys(settings) {
      fixedKeys = settingsKeys(settings);
      await ring.reload();
      warnWithoutKeys();
    },
    failed: () => mark.freeze(),
    close: () => life.close(),
    get stopping() {
      return life.stopping;
    },
  };
}
