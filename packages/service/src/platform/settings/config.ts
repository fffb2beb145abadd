import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { readSettings } from '@footbridge/runtime/settings';
import type { Environment, Settings as SettingsOf } from '@footbridge/runtime/settings';

import { StartError } from '../errors.ts';
import { insecure } from './insecure-settings.ts';
import { SETTINGS } from './settings.ts';
import { unusedSettings } from './unused-settings.ts';
import { unknownSettings } from './unknown-settings.ts';

type Settings = SettingsOf<typeof SETTINGS>;
/** Without the settings that are wrong. */
type Valid = Partial<Settings>;

export type DatabaseConfig = { engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string };

export type OAuthConfig =
  | { state: 'disabled' }
  | { state: 'incomplete'; missing: readonly string[] }
  | {
      state: 'ready';
      clientId: string;
      clientSecret: string;
      tokenUrl: string;
      encryptionKeys: readonly Buffer[];
      refreshThresholdSec: number;
      database: DatabaseConfig;
    };

/** Proxies for calls to the CRM, by the protocol of the call. */
export interface ProxyConfig {
  readonly http: string | undefined;
  readonly https: string | undefined;
  /** Hosts that are called directly, as `NO_PROXY` lists them. */
  readonly bypass: string;
}

export type AssetsConfig =
  | { engine: 'disk'; folder: string }
  | { engine: 's3'; endpoint: string; region: string; accessKeyId: string; secretAccessKey: string };

export interface Config {
  readonly listeners: {
    readonly public: { host: string; port: number };
    readonly operator: { host: string; port: number };
    readonly baseUrl: string | undefined;
    /** The host names under which the operator listener is called. */
    readonly operatorHosts: readonly string[];
    readonly trustProxy: false | number | string[];
    readonly drainGraceMs: number;
  };
  readonly operatorToken: string | undefined;
  readonly dataDir: string;
  readonly database: DatabaseConfig;
  /** Without a `nodeSecret` the nodes share one through PostgreSQL. */
  readonly cluster: { engine: 'memory' } | { engine: 'redis'; url: string; nodeSecret: string | undefined };
  readonly retentionDays: number;
  readonly backupKey: string | undefined;
  readonly crm: {
    readonly host: string;
    readonly publicKey: string | undefined;
    readonly legacyPublicKey: string | undefined;
    readonly keysFile: string | undefined;
    readonly conversationProviderId: string | undefined;
    readonly acceptedTypes: readonly string[];
    readonly inboundType: string;
    readonly sendAltId: boolean;
    readonly apiVersion: string;
    readonly statusWithGuid: boolean;
    readonly optOutWords: boolean;
    readonly optOutEnforced: boolean;
    readonly mirrorSent: boolean;
    /** The custom field for the reach of a contact, by location; `*` is for all other locations. Empty: no field is written. */
    readonly reachFields: ReadonlyMap<string, string>;
    readonly createContacts: boolean;
    readonly uploadAttachments: boolean;
    readonly footerOnPlainText: boolean;
    readonly onUncertain: 'retry' | 'park';
    readonly settleMs: number;
    readonly readLagMs: number;
  };
  readonly proxies: ProxyConfig;
  readonly oauth: OAuthConfig;
  readonly privateTokens: {
    readonly single: string | undefined;
    readonly byLocation: ReadonlyMap<string, string>;
    /** Encrypt the tokens that the operator sets per location. The same keys as for OAuth. */
    readonly encryptionKeys: readonly Buffer[];
  };
  readonly limits: {
    readonly messageMaxLength: number;
    /** 0: no limit. */
    readonly messageMaxAgeMs: number;
    readonly phoneDefaultCountry: string;
    readonly replayMemory: boolean;
    readonly webhookPerMinute: number;
    readonly validateLocationId: boolean;
    readonly crmCallsPer10Sec: number;
    readonly unsignedPerMinute: number;
    readonly oauthPerMinute: number;
    readonly healthPerMinute: number;
    readonly healthProbePerMinute: number;
    readonly enrolmentPerMinute: number;
    readonly socketPerMinute: number;
  };
  readonly macs: {
    readonly heartbeatSec: number;
    readonly maxSessions: number;
    readonly locationClaim: 'auto' | 'first' | 'operator';
  };
  readonly assets: AssetsConfig & {
    readonly retentionDays: number;
    readonly quotaBytes: number;
    readonly quotaBytesPerSeat: number;
    readonly convertHeic: boolean;
  };
  readonly alerts: AlertsConfig;
  readonly telemetry: TelemetryConfig;
  readonly logLevel: string;
  readonly accessLog: boolean;
  readonly failpoints: string | undefined;
}

/** Where traces and metrics are sent. Undefined: they are not exported. */
export interface TelemetryConfig {
  readonly traces: TracesConfig | undefined;
  readonly metrics: { readonly url: string; readonly intervalMs: number } | undefined;
  readonly headers: Record<string, string>;
  readonly serviceName: string;
  readonly resource: Readonly<Record<string, string>>;
}

export interface TracesConfig {
  readonly url: string;
  /** The fraction of messages to trace. */
  readonly ratio: number;
  /** Whether the decision in the caller's `traceparent` takes precedence. */
  readonly followsCaller: boolean;
}

export interface AlertsConfig {
  readonly webhook: { readonly url: URL; readonly secret: Uint8Array } | undefined;
  readonly slack: URL | undefined;
  readonly teams: URL | undefined;
  readonly email: { readonly url: URL; readonly from: string; readonly to: readonly string[] } | undefined;
  readonly quietHours:
    | { readonly from: number; readonly until: number; readonly timeZone: string }
    | undefined;
  /** Null: no reminders. */
  readonly reminderMs: number | null;
  readonly allowPrivate: boolean;
}

export interface LoadedConfig {
  readonly config: Config;
  readonly warnings: readonly string[];
  /** Name → `set` or `file`, for the log at start. */
  readonly summary: Readonly<Record<string, string>>;
}

/** The type of messages of an added channel at HighLevel. */
const CHANNEL_TYPE = 'Custom';

/** The only reader of the environment. Throws a StartError with exit code 3 that lists all problems by name. */
export function loadConfig(env: Environment): LoadedConfig {
  const { config, problems, ...rest } = inspectConfig(env);
  if (config === undefined) throw new StartError(problems, 3);
  return { config, ...rest };
}

export interface InspectedConfig extends Omit<LoadedConfig, 'config'> {
  /** Undefined when there are problems. */
  readonly config: Config | undefined;
  readonly problems: readonly string[];
}

/** Reads the environment. Returns all problems and warnings instead of throwing. */
export function inspectConfig(env: Environment): InspectedConfig {
  const { settings, valid, origins, problems } = readSettings(SETTINGS, env);
  const all = [...problems, ...contradictions(valid)];
  const config = settings === undefined || all.length > 0 ? undefined : build(settings);
  const summary: Record<string, string> = {};
  for (const [name, from] of origins) {
    if (from === 'set' || from === 'file') summary[name] = from;
  }
  return {
    config,
    problems: all,
    warnings: [
      ...unknownSettings(env),
      ...unusedSettings(valid, env),
      ...clusterWarnings(valid),
      ...(config === undefined ? [] : [...oauthWarnings(config.oauth), ...channelWarnings(config.crm)]),
    ],
    summary,
  };
}

/** Returns a warning for each kind of data that a node keeps in its own DATA_DIR but all nodes must share. */
function clusterWarnings({ redisUrl, oauthEncryptionKeys, assetStore }: Valid): string[] {
  if (redisUrl === undefined) return [];
  return [
    ...(oauthEncryptionKeys === undefined
      ? [
          'REDIS_URL is set without CRM_OAUTH_ENCRYPTION_KEY: each node hashes phone numbers with its own key, so it does not apply opt-outs that another node recorded; set the same key on every node',
        ]
      : []),
    ...(assetStore === 'disk'
      ? [
          'REDIS_URL is set with ASSET_STORE=disk: each node stores its own attachments, and the other nodes return 404 for them; set ASSET_STORE=s3 when you run several nodes',
        ]
      : []),
  ];
}

/** HighLevel accepts incomplete settings of an added channel, and then loses messages in one direction. */
function channelWarnings({
  conversationProviderId,
  inboundType,
  acceptedTypes,
}: Pick<Config['crm'], 'conversationProviderId' | 'inboundType' | 'acceptedTypes'>): string[] {
  const isChannel = conversationProviderId !== undefined;
  return [
    ...(inboundType === CHANNEL_TYPE && !isChannel
      ? [
          'CRM_INBOUND_TYPE is Custom without CRM_CONVERSATION_PROVIDER_ID: HighLevel does not store such messages; set the id of the provider',
        ]
      : []),
    ...(isChannel && !acceptedTypes.includes(CHANNEL_TYPE)
      ? [
          'CRM_CONVERSATION_PROVIDER_ID is set, but CRM_ACCEPTED_TYPES has no Custom: webhooks of an added channel get 400; set it to SMS,Custom',
        ]
      : []),
    ...(isChannel && inboundType !== CHANNEL_TYPE
      ? [
          `CRM_CONVERSATION_PROVIDER_ID is set, but CRM_INBOUND_TYPE is ${inboundType}: HighLevel rejects messages of an added channel that are not Custom`,
        ]
      : []),
  ];
}

function oauthWarnings(oauth: OAuthConfig): string[] {
  if (oauth.state !== 'incomplete') return [];
  const { missing } = oauth;
  const are = missing.length === 1 ? 'is' : 'are';
  return [
    `OAuth is enabled, but ${missing.join(', ')} ${are} missing: the app cannot be installed, and no statuses are sent`,
  ];
}

function contradictions(settings: Valid): string[] {
  const problems: string[] = [];
  if (
    settings.redisUrl !== undefined &&
    settings.nodeSecret === undefined &&
    !isPostgres(settings.databaseUrl)
  )
    problems.push(
      'NODE_SECRET is required with REDIS_URL when DATABASE_URL is not PostgreSQL: the nodes have no other common secret, and a program that can write to Redis could forge their messages; set it to the same random text of 16 or more characters on every node, or set DATABASE_URL to a PostgreSQL',
    );
  const { port, adminPort, host, adminHost } = settings;
  if (port !== 0 && port === adminPort && (host === adminHost || [host, adminHost].some(isEveryAddress)))
    problems.push('ADMIN_PORT must differ from PORT: both listeners would use the same address');
  if (settings.assetStore === 's3') {
    const needed = {
      s3Endpoint: 'ASSET_S3_ENDPOINT',
      s3AccessKeyId: 'ASSET_S3_ACCESS_KEY_ID',
      s3SecretAccessKey: 'ASSET_S3_SECRET_ACCESS_KEY',
    } as const;
    for (const key of ['s3Endpoint', 's3AccessKeyId', 's3SecretAccessKey'] as const)
      if (settings[key] === undefined) problems.push(`${needed[key]} is required with ASSET_STORE=s3`);
  }
  problems.push(...alertProblems(settings));
  return settings.allowInsecure === true ? problems : [...problems, ...insecure(settings)];
}

const isEveryAddress = (host: string | undefined) => host === '0.0.0.0' || host === '::';

function alertProblems(settings: Valid): string[] {
  const together = [
    ['ALERT_WEBHOOK_URL', settings.alertWebhookUrl, 'ALERT_WEBHOOK_SECRET', settings.alertWebhookSecret],
    ['ALERT_SMTP_URL', settings.alertSmtpUrl, 'ALERT_EMAIL_FROM', settings.alertEmailFrom],
    ['ALERT_SMTP_URL', settings.alertSmtpUrl, 'ALERT_EMAIL_TO', settings.alertEmailTo],
  ] as const;
  const addresses = {
    ALERT_WEBHOOK_URL: settings.alertWebhookUrl,
    ALERT_SLACK_URL: settings.alertSlackUrl,
    ALERT_TEAMS_URL: settings.alertTeamsUrl,
  };
  const isOpen = (url: URL | undefined) => url?.protocol === 'http:' && settings.alertAllowPrivate !== true;
  return [
    ...together.flatMap(([one, first, other, second]) => {
      if ((first === undefined) === (second === undefined)) return [];
      return first === undefined ? `${one} is required with ${other}` : `${other} is required with ${one}`;
    }),
    ...Object.entries(addresses)
      .filter(([, url]) => isOpen(url))
      .map(
        ([name]) => `${name} must be an https: address; set ALERT_ALLOW_PRIVATE=true for a private receiver`,
      ),
  ];
}

function alertsOf(settings: Settings): AlertsConfig {
  const { alertWebhookUrl, alertWebhookSecret, alertSmtpUrl, alertEmailFrom, alertEmailTo } = settings;
  const reminderHours = settings.alertReminderHours;
  return {
    webhook:
      alertWebhookUrl && alertWebhookSecret
        ? { url: alertWebhookUrl, secret: alertWebhookSecret }
        : undefined,
    slack: settings.alertSlackUrl,
    teams: settings.alertTeamsUrl,
    email:
      alertSmtpUrl && alertEmailFrom && alertEmailTo
        ? { url: alertSmtpUrl, from: alertEmailFrom, to: alertEmailTo }
        : undefined,
    quietHours: settings.alertQuietHours,
    reminderMs: reminderHours === 0 ? null : reminderHours * 3_600_000,
    allowPrivate: settings.alertAllowPrivate,
  };
}

function telemetryOf(settings: Settings): TelemetryConfig {
  const { otlpEndpoint, otlpTracesEndpoint, otlpMetricsEndpoint, tracesSampler } = settings;
  const urlOf = (full: string | undefined, exporter: 'otlp' | 'none' | undefined, path: string) => {
    if (exporter === 'none') return undefined;
    return full ?? (otlpEndpoint && `${otlpEndpoint}${path}`);
  };
  const tracesUrl = urlOf(otlpTracesEndpoint, settings.tracesExporter, '/v1/traces');
  const metricsUrl = urlOf(otlpMetricsEndpoint, settings.metricsExporter, '/v1/metrics');
  const root = tracesSampler.replace('parentbased_', '');
  const ratios: Record<string, number> = { always_on: 1, always_off: 0 };
  return {
    traces:
      tracesUrl === undefined
        ? undefined
        : {
            url: tracesUrl,
            ratio: ratios[root] ?? settings.tracesSamplerArg ?? 1,
            followsCaller: root !== tracesSampler,
          },
    metrics:
      metricsUrl === undefined
        ? undefined
        : { url: metricsUrl, intervalMs: settings.metricExportIntervalMs ?? 60_000 },
    headers: settings.otlpHeaders ?? {},
    serviceName: settings.serviceName ?? 'footbridge',
    resource: settings.resourceAttributes ?? {},
  };
}

const isPostgres = (url: string | undefined) => url !== undefined && url.startsWith('postgres');

function build(settings: Settings): Config {
  const dataDir = settings.dataDir;
  const database = databaseOf(settings.databaseUrl, dataDir);
  return {
    listeners: {
      public: { host: settings.host, port: settings.port },
      operator: { host: settings.adminHost, port: settings.adminPort },
      baseUrl: settings.baseUrl,
      operatorHosts: [
        ...(settings.baseUrl === undefined ? [] : [new URL(settings.baseUrl).hostname]),
        ...(settings.adminAllowedHosts ?? []),
      ],
      trustProxy: settings.trustProxy,
      drainGraceMs: settings.drainGraceSec * 1000,
    },
    operatorToken: settings.operatorToken,
    dataDir,
    database,
    cluster:
      settings.redisUrl === undefined
        ? { engine: 'memory' }
        : { engine: 'redis', url: settings.redisUrl, nodeSecret: settings.nodeSecret },
    retentionDays: settings.journalRetentionDays,
    backupKey: settings.backupKey,
    crm: {
      host: settings.crmHost,
      publicKey: settings.crmPublicKey,
      legacyPublicKey: settings.crmLegacyPublicKey,
      keysFile: settings.crmKeysFile,
      conversationProviderId: settings.conversationProviderId,
      acceptedTypes: settings.acceptedTypes,
      inboundType: settings.inboundType,
      sendAltId: settings.sendAltId,
      apiVersion: settings.crmApiVersion,
      statusWithGuid: settings.statusWithGuid,
      optOutWords: settings.optOutWords,
      optOutEnforced: settings.optOutEnforced,
      mirrorSent: settings.mirrorSent,
      reachFields: settings.reachFields ?? new Map(),
      createContacts: settings.createContacts,
      uploadAttachments: settings.uploadAttachments,
      footerOnPlainText: settings.footerOnPlainText,
      onUncertain: settings.onUncertain,
      settleMs: settings.crmSettleSec * 1000,
      readLagMs: settings.crmReadLagSec * 1000,
    },
    proxies: { http: settings.httpProxy, https: settings.httpsProxy, bypass: settings.noProxy ?? '' },
    oauth: oauthOf(settings, database, dataDir),
    privateTokens: {
      single: settings.pitToken,
      byLocation: settings.pitTokens ?? new Map(),
      encryptionKeys: settings.oauthEncryptionKeys ?? [],
    },
    limits: {
      messageMaxLength: settings.messageMaxLength,
      messageMaxAgeMs: settings.messageMaxAgeSec * 1000,
      phoneDefaultCountry: settings.phoneDefaultCountry,
      replayMemory: settings.replayMemory === 'on',
      webhookPerMinute: settings.webhookPerMinute,
      validateLocationId: settings.validateLocationId,
      crmCallsPer10Sec: settings.crmCallsPer10Sec,
      unsignedPerMinute: settings.unsignedPerMinute,
      oauthPerMinute: settings.oauthPerMinute,
      healthPerMinute: settings.healthPerMinute,
      healthProbePerMinute: settings.healthProbePerMinute,
      enrolmentPerMinute: settings.enrolmentPerMinute,
      socketPerMinute: settings.socketPerMinute,
    },
    macs: {
      heartbeatSec: settings.heartbeatSec,
      maxSessions: settings.maxSessions,
      locationClaim: settings.locationClaim,
    },
    assets: {
      ...assetsOf(settings, dataDir),
      retentionDays: settings.assetRetentionDays,
      quotaBytes: settings.assetQuotaMb * 1_000_000,
      quotaBytesPerSeat: settings.assetQuotaSeatMb * 1_000_000,
      convertHeic: settings.mediaHeic === 'on',
    },
    alerts: alertsOf(settings),
    telemetry: telemetryOf(settings),
    logLevel: settings.logLevel,
    accessLog: settings.accessLog,
    failpoints: settings.failpoints,
  };
}

function databaseOf(url: string | undefined, dataDir: string): DatabaseConfig {
  if (url === undefined) return { engine: 'sqlite', file: join(dataDir, 'footbridge.sqlite') };
  if (isPostgres(url)) return { engine: 'postgres', url };
  return { engine: 'sqlite', file: url.replace(/^(sqlite|file):(\/\/)?/, '') };
}

/** Two connections to one SQLite file would block each other. */
const isSame = (one: DatabaseConfig, other: DatabaseConfig): boolean =>
  one.engine === 'sqlite' && other.engine === 'sqlite'
    ? resolve(one.file) === resolve(other.file)
    : isDeepStrictEqual(one, other);

function assetsOf(settings: Settings, dataDir: string): AssetsConfig {
  const { s3Endpoint, s3Region, s3AccessKeyId, s3SecretAccessKey } = settings;
  if (settings.assetStore !== 's3' || !s3Endpoint || !s3AccessKeyId || !s3SecretAccessKey)
    return { engine: 'disk', folder: join(dataDir, 'assets') };
  return {
    engine: 's3',
    endpoint: s3Endpoint,
    region: s3Region ?? 'auto',
    accessKeyId: s3AccessKeyId,
    secretAccessKey: s3SecretAccessKey,
  };
}

function oauthOf(settings: Settings, database: DatabaseConfig, dataDir: string): OAuthConfig {
  if (!settings.oauthEnabled) return { state: 'disabled' };
  const { oauthClientId, oauthClientSecret, oauthTokenUrl, oauthEncryptionKeys, oauthRefreshThresholdSec } =
    settings;
  // The default file in DATA_DIR does not count: the operator chooses where tokens are kept (O3).
  const databaseUrl = settings.oauthDatabaseUrl ?? settings.databaseUrl;
  if (
    oauthClientId === undefined ||
    oauthClientSecret === undefined ||
    oauthTokenUrl === undefined ||
    oauthEncryptionKeys === undefined ||
    oauthRefreshThresholdSec === undefined ||
    databaseUrl === undefined
  ) {
    const missing = [
      oauthClientId === undefined && 'CRM_OAUTH_CLIENT_ID',
      oauthClientSecret === undefined && 'CRM_OAUTH_CLIENT_SECRET',
      oauthTokenUrl === undefined && 'CRM_OAUTH_TOKEN_URL',
      oauthEncryptionKeys === undefined && 'CRM_OAUTH_ENCRYPTION_KEY',
      oauthRefreshThresholdSec === undefined && 'CRM_OAUTH_REFRESH_THRESHOLD_SEC',
      databaseUrl === undefined && 'CRM_OAUTH_DATABASE_URL',
    ].filter((name) => name !== false);
    return { state: 'incomplete', missing };
  }
  const own = databaseOf(databaseUrl, dataDir);
  return {
    state: 'ready',
    clientId: oauthClientId,
    clientSecret: oauthClientSecret,
    tokenUrl: oauthTokenUrl,
    encryptionKeys: oauthEncryptionKeys,
    refreshThresholdSec: oauthRefreshThresholdSec,
    database: isSame(own, database) ? database : own,
  };
}
