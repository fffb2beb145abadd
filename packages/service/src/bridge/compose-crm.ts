import { every } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { FastifyInstance } from 'fastify';

import type { BridgeContext } from './context.ts';
import type { AssetSide } from './compose-assets.ts';
import { logLock } from './log-lock.ts';
import { pruneHourly } from './prune-hourly.ts';
import { createContactCalls } from '../relay/crm/contact-calls.ts';
import { createUpdateContact } from '../relay/crm/update-contact.ts';
import type { UpdateContact } from '../relay/crm/update-contact.ts';
import type { Deliver } from '../relay/inbound/gate.ts';
import type { Relay } from '../relay/relay.ts';
import type { Host } from '../platform/host.ts';
import { createConversationCalls } from '../relay/inbound/conversation-calls-http.ts';
import { createCrmClient } from '../relay/crm/crm-client.ts';
import { probeAddress } from '../relay/crm/probe-address.ts';
import type { Probe } from '../relay/crm/probe-address.ts';
import { createInboundCalls } from '../relay/inbound/inbound-calls-http.ts';
import { createStatusCalls } from '../relay/status/status-calls-http.ts';
import { createTokenEndpoint } from '../features/oauth/token-endpoint-http.ts';
import { createTransport } from '../relay/crm/transport.ts';
import { createUploadCalls } from '../relay/inbound/upload-calls-http.ts';
import { oauthRoutes } from '../features/oauth/oauth-routes.ts';
import type { GatewayDeps } from '../relay/macs/mac-gateway.ts';
import { crmCheckRoutes } from '../features/doctor/crm-check-routes.ts';
import { grantsRoutes } from '../features/oauth/grants-routes.ts';
import { messagesRoutes } from '../relay/journal/messages-routes.ts';
import { createPrepareAttachments } from '../relay/inbound/prepare-attachments.ts';
import { createLookUpPhone } from '../relay/crm/phone-of-contact.ts';
import type { LocationTokens } from '../relay/accounts/manage-licenses.ts';
import type { OverviewDeps } from '../relay/accounts/overview.ts';
import { createInbound } from '../relay/inbound/deliver-inbound.ts';
import type { Inbound } from '../relay/inbound/deliver-inbound.ts';
import { APP_EVENTS } from '../features/oauth/app-events.ts';
import { createPrivateTokens, privateTokenCheck } from '../features/oauth/private-tokens.ts';
import { createTokens } from '../features/oauth/tokens.ts';
import { createStatusReports } from '../relay/status/report-statuses.ts';
import type { StatusReports } from '../relay/status/report-statuses.ts';
import { RecentCrmCalls } from '../relay/crm/recent-calls.ts';
import type { TenantsDeps } from '../features/tenants/tenants.ts';
import type { Phones } from '../relay/people/phones.ts';
import type { OutboundDeps } from '../relay/webhook/receive-webhook.ts';
import type { Audit } from '../platform/operator/audit.ts';
import type { Changes } from '../platform/changes/changes.ts';
import type { Grants } from '../features/oauth/grants.ts';
import { createSqlGrants } from '../features/oauth/grants-sql.ts';
import { createVault } from '../features/oauth/vault.ts';
import { createSqlGuids } from '../relay/inbound/guids-sql.ts';
import type { SqlJournal } from '../relay/journal/journal-sql.ts';
import type { Licenses } from '../relay/accounts/licenses.ts';
import type { Limits } from '../platform/limits/limits.ts';
import type { Suspects } from '../platform/suspects/suspects.ts';
import type { Lease, Switchboard } from '../relay/switchboard/switchboard.ts';
import { openDatabase } from '../platform/sql/open-database.ts';
import type { OpenDatabase } from '../platform/sql/open-database.ts';

export interface CrmDeps {
  readonly database: OpenDatabase;
  readonly changes: Changes;
  readonly journal: SqlJournal;
  readonly licenses: Licenses;
  readonly switchboard: Switchboard;
  readonly limits: Limits;
  readonly audit: Audit;
  readonly files: Pick<AssetSide, 'assets' | 'index'>;
  readonly host: Host;
  readonly phones: Phones;
  readonly slots: Pick<
    Relay,
    'texts' | 'retention' | 'gate' | 'appEvents' | 'forwarded' | 'inboundDelivered'
  >;
  readonly suspects: Suspects;
  readonly failpoint: Failpoint | undefined;
}

export interface CrmSide {
  readonly inbound: GatewayDeps['inbound'];
  readonly statuses: StatusReports;
  readonly forwarding: OutboundDeps['forwarding'];
  readonly updateContact: UpdateContact;
  readonly grants: OverviewDeps['grants'];
  readonly contacts: OutboundDeps['contacts'] & Pick<Inbound, 'contactsOf' | 'forgetContacts'>;
  readonly tenants: Pick<TenantsDeps, 'privateTokenCheck' | 'crmCalls'>;
  /** The owners of tokens in use that no configured key has encrypted. */
  readonly unreadableTokens: Grants['unreadable'];
  readonly locationTokens: LocationTokens;
  /** Calls an address once, in the way the CRM is called. */
  readonly probe: (address: string) => Promise<Probe>;
  readonly publicRoutes: readonly ((app: FastifyInstance) => void)[];
  readonly operatorRoutes: readonly ((app: FastifyInstance) => void)[];
}

const DAY_MS = 86_400_000;
const SERVE_EVENTS_MS = 60_000;
/** For calls that only show whether the CRM accepts the token. The number is reserved for fiction. */
const UNUSED_NUMBER = '+12025550199';
const UNUSED_CONTACT = 'footbridge-check';

/** Tokens, calls to the CRM, and the flows that use them. */
export async function composeCrm(context: BridgeContext, deps: CrmDeps): Promise<CrmSide> {
  const { config, log, clock, life, metrics } = context;
  const { changes, journal, switchboard, failpoint, licenses, phones, slots } = deps;
  const transport = createTransport({ clock, proxies: config.proxies });
  life.add('calls to the CRM', () => transport.close());

  const ownedLocations = (limit: number) => licenses.ownedLocations(limit);
  const keys =
    config.oauth.state === 'ready' ? config.oauth.encryptionKeys : config.privateTokens.encryptionKeys;
  const grants =
    keys.length === 0
      ? undefined
      : createSqlGrants({ database: await grantDatabase(context, deps), clock, vault: createVault(keys) });
  const rotation = await grants?.rotate();
  if (rotation !== undefined && rotation.encrypted > 0)
    log.info(
      { event: 'token.keys_rotated', tokens: rotation.encrypted },
      'tokens encrypted with the newest key; older keys can be removed',
    );
  if (rotation !== undefined && rotation.unreadable > 0)
    log.warn(
      { event: 'token.unreadable', tokens: rotation.unreadable },
      'no key of CRM_OAUTH_ENCRYPTION_KEY decrypts these tokens; add the former key again, or authorise and set them again',
    );
  const tokens = createTokens({
    oauth:
      config.oauth.state === 'ready' && grants !== undefined
        ? {
            grants,
            endpoint: createTokenEndpoint({
              transport,
              crmHost: config.crm.host,
              apiVersion: config.crm.apiVersion,
              ...config.oauth,
            }),
            thresholdSec: config.oauth.refreshThresholdSec,
          }
        : undefined,
    privateToken:
      config.oauth.state === 'ready'
        ? undefined
        : createPrivateTokens({
            ...config.privateTokens,
            grants,
            ownedLocations,
            log,
          }),
    changes,
    clock,
    log,
    failpoint,
    refreshed: (result) => metrics.tokenRefresh(result),
  });
  life.add('tokens', () => tokens.close());
  const { appEvents } = tokens;
  if (appEvents !== undefined) {
    const serve = () => {
      void appEvents.serveExpected();
      void appEvents.askDoubted();
    };
    serve();
    life.add('expected installations', every(clock, SERVE_EVENTS_MS, serve));
  }
  const recentCalls = new RecentCrmCalls(() => clock.now());
  const client = createCrmClient({
    transport,
    host: config.crm.host,
    apiVersion: config.crm.apiVersion,
    tokens,
    clock,
    callsPer10Sec: config.limits.crmCallsPer10Sec,
    observe(operation, status, seconds, locationId) {
      metrics.crmCall(operation, status, seconds);
      recentCalls.add(locationId, operation, status);
    },
  });
  metrics.readAtScrape('footbridge_crm_circuit_open', () => client.openCircuits);
  const contacts = createContactCalls(client);
  const conversations = createConversationCalls(client);
  const otherNodes = config.cluster.engine === 'redis';
  const common = {
    journal,
    isCurrent: (lease: Lease) => switchboard.isCurrent(lease),
    clock,
    log,
    failpoint,
    otherNodes,
    ...(otherNodes && { confirm: (lease: Lease) => switchboard.confirm(lease) }),
  };

  const statuses = createStatusReports({
    ...common,
    otherNodes: otherNodes ? switchboard : undefined,
    oauthReady: config.oauth.state === 'ready',
    calls: createStatusCalls(client, config.crm.statusWithGuid),
    readLagMs: config.crm.readLagMs,
    settleMs: config.crm.settleMs,
    past: journal,
    count: metrics.statusCall,
    onRepeat: () => metrics.duplicate('message'),
    onTerminal: metrics.statusTerminal,
  });
  switchboard.keepStatuses({
    statusOf: (locationId, messageId) => statuses.statusOf(locationId, messageId),
    async settle(locationId) {
      const lateMs = await statuses.settle(locationId);
      await journal.flush();
      return lateMs;
    },
    async settleRejections(locationId, messageId) {
      await statuses.settleRejections(locationId, messageId);
      await journal.flush();
    },
  });
  life.add('statuses', async () => {
    await statuses.close();
    // The next owner of a location reads them.
    await journal.flush();
  });

  const guids = createSqlGuids({ database: deps.database, clock, owner: context.node });
  const inbound = createInbound({
    ...common,
    guids,
    suspects: deps.suspects,
    calls: createInboundCalls(client, {
      type: config.crm.inboundType,
      conversationProviderId: config.crm.conversationProviderId,
      sendAltId: config.crm.sendAltId,
    }),
    contacts,
    conversations,
    settings: config.crm,
    attachments: createPrepareAttachments({
      ...deps.files,
      storage: config.crm.uploadAttachments ? createUploadCalls(client) : undefined,
      clock,
      log,
    }),
    texts: slots.texts,
    phones,
    count: metrics.inbound,
    countLookUp: metrics.inboundLookUp,
  });
  life.add('inbound', () => inbound.close());
  metrics.readAtScrape('footbridge_inbound_oldest_unacked_seconds', () => inbound.oldestSec);

  const kept = config.retentionDays * DAY_MS;
  life.add(
    'pruning',
    pruneHourly(context, 'journal.prune_failed', async () => {
      const own = (await slots.retention.value.list()).flatMap(({ locationId, journalDays }) =>
        journalDays === null ? [] : [[locationId, journalDays * DAY_MS] as const],
      );
      await Promise.all([
        journal.prune(kept, new Map(own)),
        guids.prune(kept),
        deps.suspects.prune(clock.now() - kept),
      ]);
    }),
  );

  const updateContact = createUpdateContact(client, contacts);
  const deliver: Deliver = async (lease, frame) => {
    const ack = await inbound.deliver(lease, frame);
    if (ack !== 'retry' && ack.outcome === 'delivered')
      slots.inboundDelivered.happened(lease.locationId, frame);
    return ack;
  };
  let gated: Deliver | undefined;
  if (appEvents !== undefined)
    for (const type of APP_EVENTS) slots.appEvents.set(type, (event) => appEvents.handle(event));
  return {
    inbound: { deliver: (...given) => (gated ??= slots.gate.value(deliver))(...given) },
    statuses,
    forwarding: {
      async send(locationId, frame) {
        const outcome = await switchboard.send(locationId, frame);
        if (outcome === 'written') slots.forwarded.happened(locationId, frame);
        return outcome;
      },
    },
    updateContact,
    // Without OAuth, stored grants are not used.
    grants: config.oauth.state === 'ready' ? grants : undefined,
    contacts: {
      lookUp: createLookUpPhone({ calls: contacts, clock }),
      prefer: (...sent) => inbound.prefer(...sent),
      contactsOf: (handles) => inbound.contactsOf(handles),
      forgetContacts: (locationId) => inbound.forgetContacts(locationId),
    },
    tenants: {
      crmCalls: (locationId) => recentCalls.of(locationId),
      async privateTokenCheck() {
        if (config.oauth.state === 'ready') return () => 'none';
        return await privateTokenCheck({ ...config.privateTokens, grants, ownedLocations });
      },
    },
    locationTokens: {
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
    },
    async unreadableTokens() {
      const found = (await grants?.unreadable()) ?? [];
      return found.filter(({ kind }) => (kind === 'private') === (config.oauth.state !== 'ready'));
    },
    probe: (address) => probeAddress({ transport, clock }, address),
    publicRoutes: [
      oauthRoutes({
        oauth: config.oauth,
        install: (code) => tokens.install(code),
        limits: deps.limits,
        perMinute: config.limits.oauthPerMinute,
        log,
      }),
    ],
    operatorRoutes: [
      messagesRoutes({
        journal,
        suspects: deps.suspects,
        redeliver: (locationId, seq) => switchboard.send(locationId, { type: 'redeliver', seq }),
        texts: {
          until: (locationId) => slots.texts.value.until(locationId),
          textOf: (...message) => slots.texts.value.textOf(...message),
        },
        audit: deps.audit,
        phones,
      }),
      grantsRoutes({ grants, changes, audit: deps.audit }),
      crmCheckRoutes({
        calls: {
          'contacts.readonly': (locationId) => contacts.find(locationId, UNUSED_NUMBER, {}),
          'conversations.readonly': (locationId) => conversations.find(locationId, UNUSED_CONTACT, {}),
        },
      }),
    ],
  };
}

/** CRM_OAUTH_DATABASE_URL may name a separate database. */
async function grantDatabase(
  { config, log, life }: BridgeContext,
  { database }: CrmDeps,
): Promise<OpenDatabase> {
  if (config.oauth.state !== 'ready' || config.oauth.database === config.database) return database;
  const own = await openDatabase(config.oauth.database, (happened) => {
    if (happened.type === 'checkpoint_failed')
      log.warn(
        { event: 'token.checkpoint_failed', err: happened.error },
        'WAL checkpoint of the token database failed',
      );
    else if (happened.type === 'connection_lost')
      log.warn(
        { event: 'token.database_connection_lost', err: happened.error },
        'token database connection lost',
      );
    else logLock(log, 'tokens', happened);
  });
  life.add('token database', () => own.close());
  return own;
}
