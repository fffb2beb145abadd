import { FAILPOINT_RULE, isFailpointList } from '@footbridge/runtime/failpoints';
import { parseQuietHours } from '@footbridge/runtime/quiet-hours';
import type { QuietHours } from '@footbridge/runtime/quiet-hours';
import { SettingError } from '@footbridge/runtime/settings';
import type { Setting as DeclaredSetting } from '@footbridge/runtime/settings';

import { isRedisAddress } from '../redis/redis-address.ts';

/** One setting of the service. The reader, `.env.example` and `docs/configuration.md` use the table below. */
export interface Setting<T = unknown> extends DeclaredSetting<T> {
  /** The heading under which the documents list it. */
  readonly group: string;
}

const fail = (expected: string): never => {
  throw new SettingError(expected);
};

const text = (value: string) => value;

const wholeNumber = (minimum: number, maximum: number) => (value: string) => {
  const number = /^\d{1,12}$/.test(value) ? Number(value) : Number.NaN;
  return number >= minimum && number <= maximum
    ? number
    : fail(`must be a whole number from ${minimum} to ${maximum}`);
};

const flag = (value: string) => {
  if (value === 'true') return true;
  if (value === 'false') return false;
  return fail('must be true or false');
};

/** Two settings of the CRM interface compare with one exact word; every other value means the opposite. */
const exactly = (word: string) => (value: string) => value === word;

const choice =
  <const T extends readonly string[]>(...choices: T) =>
  (value: string): T[number] =>
    choices.find((one) => one === value) ?? fail(`must be one of ${choices.join(', ')}`);

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?(\/|$)/;

const webAddress = (value: string) => {
  const full = /^https?:\/\//.test(value) ? value : `${LOOPBACK.test(value) ? 'http' : 'https'}://${value}`;
  if (!URL.canParse(full)) return fail('must be a host name or an http(s) address');
  const url = new URL(full);
  if (url.username !== '' || url.search !== '' || url.hash !== '')
    return fail('must be an address without credentials, query or fragment');
  return url.href.replace(/\/$/, '');
};

/** The URL of an HTTP proxy, with credentials if it requires them. The message never quotes the value. */
const proxyAddress = (value: string) => {
  const url = URL.parse(/^[a-z\d+.-]+:\/\//i.test(value) ? value : `http://${value}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '')
    return fail('must be the http:// or https:// address of a proxy, such as http://proxy.example:3128');
  if (![url.username, url.password].every(isPercentEncoded))
    return fail('must have its user name and password percent-encoded');
  return url.href;
};

const isPercentEncoded = (value: string) => !/%(?![\da-f]{2})/i.test(value);

const matching = (pattern: RegExp, expected: string) => (value: string) =>
  pattern.test(value) ? value : fail(expected);

/** `false`, a number of proxies, or a list of addresses and networks (L7). */
const trustProxy = (value: string): false | number | string[] => {
  if (value === 'false' || value === '0') return false;
  if (/^\d$/.test(value)) return Number(value);
  const list = value.split(',').map((part) => part.trim());
  const known = /^(loopback|linklocal|uniquelocal|[\da-fA-F.:]+(\/\d{1,3})?)$/;
  return list.every((part) => known.test(part) && part !== '')
    ? list
    : fail(
        'must be false, a number of proxies from 1 to 9, or a list of addresses and networks such as 10.0.0.0/8',
      );
};

const hostNames = (value: string): string[] => {
  const names = value.split(',').map((name) => name.trim());
  return names.every((name) => /^[a-z\d_-]+(\.[a-z\d_-]+)*$/i.test(name))
    ? names
    : fail('must be a list of host names without ports, such as console.example.com,bridge.internal');
};

const messageTypes = (value: string): string[] => {
  const types = value.split(',').map((type) => type.trim());
  return types.every((type) => MESSAGE_TYPE.test(type))
    ? types
    : fail('must be a list of message types such as SMS,Custom');
};

const MESSAGE_TYPE = /^[A-Za-z_]{2,32}$/;

/** 32 bytes as 64 hex digits, base64, or 32 plain characters; several, newest first, separated by commas (O6). */
const encryptionKeys = (value: string): Buffer[] =>
  value.split(',').map((part) => {
    const one = part.trim();
    if (/^[\da-fA-F]{64}$/.test(one)) return Buffer.from(one, 'hex');
    const decoded = /^[A-Za-z0-9+/]{43}=$|^[A-Za-z0-9_-]{43}=?$/.test(one)
      ? Buffer.from(one, 'base64')
      : undefined;
    if (decoded?.length === 32) return decoded;
    const plain = Buffer.from(one, 'utf8');
    return plain.length === 32
      ? plain
      : fail(
          `must be 32 bytes (64 hex digits, base64, or 32 characters); a key of ${plain.length} characters was given`,
        );
  });

/** A token is sent in a header. The message never quotes it. */
const privateToken = matching(
  /^[\x21-\x7e]+$/,
  'must be the token itself (ASCII, no spaces), not the placeholder pit-… from the examples',
);

/** `{"location": "pit-…"}` as JSON, or `location=pit-…,location=pit-…` (O10). */
const tokenMap = (value: string): ReadonlyMap<string, string> => {
  const rule = 'must be a JSON object from location to token, or a list such as loc1=pit-…,loc2=pit-…';
  if (value.trimStart().startsWith('{')) {
    let parsed: unknown;
    try {
      parsed = JSON.parse(value);
    } catch {
      return fail(rule);
    }
    const entries = Object.entries(parsed ?? {});
    return entries.every(([, token]) => typeof token === 'string' && token !== '')
      ? new Map(entries.map(([location, token]) => [location, privateToken(token)]))
      : fail(rule);
  }
  const pairs = value.split(',').map((pair) => pair.trim().split('='));
  return pairs.every(([location, token, ...rest]) => location && token && rest.length === 0)
    ? new Map(pairs.map(([location = '', token = '']) => [location, privateToken(token)]))
    : fail(rule);
};

const FIELD_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Parses the id of a custom field, stored under `*` for all locations, or a list `location=id,location=id`. */
const fieldIds = (value: string): ReadonlyMap<string, string> => {
  const pairs = (FIELD_ID.test(value) ? `*=${value}` : value)
    .split(',')
    .map((pair) => pair.trim().split('='));
  return pairs.every(([location, id = '', ...rest]) => location && FIELD_ID.test(id) && rest.length === 0)
    ? new Map(pairs.map(([location = '', id = '']) => [location, id]))
    : fail('must be the id of a custom field, or a list such as loc1=id1,loc2=id2');
};

/** A PEM in an environment variable often has literal `\n` instead of line breaks. */
const pem = (value: string) => {
  const unfolded = value.replaceAll('\\n', '\n').trim();
  return unfolded.includes('-----BEGIN ') ? unfolded : fail('must be a public key in PEM form');
};

const databaseUrl = (value: string) =>
  /^(postgres(ql)?:\/\/|sqlite:|file:)/.test(value)
    ? value
    : fail('must start with postgres://, or with sqlite: and a file name');

const redisAddress = (value: string) =>
  isRedisAddress(value)
    ? value
    : fail('must start with redis:// or rediss://, or be redis+sentinel://HOST:26379,HOST:26379/NAME');

/** The address of a receiver of alerts. It is often a secret: the message never quotes it. */
const receiverUrl = (value: string): URL => {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.hash !== '')
    return fail('must be an http(s) address without credentials or fragment');
  return url;
};

const smtpUrl = (value: string): URL => {
  const url = URL.parse(value);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    return fail('must be the address of a mail server, such as smtps://user:password@mail.example.com');
  return [url.username, url.password].every(isPercentEncoded)
    ? url
    : fail('must have its user name and password percent-encoded');
};

/** A secret of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
const webhookSecret = (value: string): Buffer => {
  const [, encoded] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value) ?? [];
  const secret = Buffer.from(encoded ?? '', 'base64');
  return secret.length >= 24 && secret.length <= 64
    ? secret
    : fail('must be whsec_ followed by 24 to 64 random bytes in base64');
};

const MAIL_ADDRESS = /^[^\s,<>@]+@[^\s,<>@]+$/;

const mailAddresses = (value: string): string[] => {
  const list = value.split(',').map((address) => address.trim());
  return list.every((address) => MAIL_ADDRESS.test(address))
    ? list
    : fail('must be a list of mail addresses such as ops@example.com');
};

const quietHours = (value: string): QuietHours =>
  parseQuietHours(value, 'UTC') ??
  fail('must be two times of day and a time zone, such as 22:00-07:00 Europe/Berlin');

/** Parses `name=value,name=value`, percent-encoded, as OpenTelemetry defines it. The error never quotes the value. */
const pairs = (value: string): Record<string, string> => {
  const rule = 'must be a list such as name=value,name=value, percent-encoded';
  const entries = value.split(',').map((pair) => /^\s*([^=\s]+)\s*=(.*)$/.exec(pair) ?? fail(rule));
  if (!entries.every(([, , given = '']) => isPercentEncoded(given))) return fail(rule);
  return Object.fromEntries(
    entries.map(([, name = '', given = '']) => [name, decodeURIComponent(given.trim())]),
  );
};

const ratio = (value: string) => {
  const number = /^(?:\d+\.?\d*|\.\d+)$/.test(value) ? Number(value) : Number.NaN;
  return number <= 1 ? number : fail('must be a number from 0 to 1');
};

const failpoints = (value: string) => (isFailpointList(value) ? value : fail(FAILPOINT_RULE));

const define = <T, const F extends string | undefined>(
  group: string,
  name: string,
  fallback: F,
  parse: (value: string) => T,
  about: string,
  secret = false,
): Setting<T> & { readonly fallback: F } => {
  const fromFile = secret || name.endsWith('PUBLIC_KEY');
  return { name, group, about, fallback, secret, fromFile, parse };
};

const SECRET = true;

/** Proxy settings are read in both cases, by convention; lower case takes precedence. */
const inEitherCase = <T>(setting: Setting<T>): Setting<T> => ({
  ...setting,
  alias: setting.name.toLowerCase(),
});

export const SETTINGS = {
  port: define(
    'Listeners',
    'PORT',
    '4600',
    wholeNumber(0, 65_535),
    'Port of the public listener: CRM, OAuth, Macs, assets, health.',
  ),
  host: define('Listeners', 'HOST', '0.0.0.0', text, 'Address the public listener binds to.'),
  adminPort: define(
    'Listeners',
    'ADMIN_PORT',
    '4610',
    wholeNumber(0, 65_535),
    'Port of the operator listener: console, API, metrics, probes, documents.',
  ),
  adminHost: define(
    'Listeners',
    'ADMIN_HOST',
    '127.0.0.1',
    text,
    'Address the operator listener binds to. Keep it private.',
  ),
  adminAllowedHosts: define(
    'Listeners',
    'ADMIN_ALLOWED_HOSTS',
    undefined,
    hostNames,
    'Host names under which the operator listener is called, besides that of BASE_URL. localhost, names without a dot and IP addresses are always allowed.',
  ),
  baseUrl: define(
    'Listeners',
    'BASE_URL',
    undefined,
    webAddress,
    'Public address of this service, used for the links to assets given to the CRM. Default: http://127.0.0.1 and the port.',
  ),
  trustProxy: define(
    'Listeners',
    'TRUST_PROXY',
    'false',
    trustProxy,
    'Which proxies may set X-Forwarded-For: false, a number of proxies, or addresses and networks.',
  ),
  drainGraceSec: define(
    'Listeners',
    'DRAIN_GRACE_SEC',
    '2',
    wholeNumber(0, 60),
    'Seconds a stopping node keeps accepting requests after /readyz fails (several nodes only), and seconds it then keeps idle connections open.',
  ),
  operatorToken: define(
    'Listeners',
    'OPERATOR_TOKEN',
    undefined,
    matching(/^\S{16,}$/, 'must have at least 16 characters and no spaces'),
    'Bearer token of the operator API. Default: generated at the first start and stored in DATA_DIR/operator-token.',
    SECRET,
  ),

  dataDir: define(
    'Storage',
    'DATA_DIR',
    './data',
    text,
    'Folder for the SQLite file, assets and the operator token.',
  ),
  databaseUrl: define(
    'Storage',
    'DATABASE_URL',
    undefined,
    databaseUrl,
    'PostgreSQL address, or sqlite: and a file name. Default: footbridge.sqlite in DATA_DIR.',
    SECRET,
  ),
  redisUrl: define(
    'Storage',
    'REDIS_URL',
    undefined,
    redisAddress,
    'Redis or Valkey, required for several nodes; with Sentinel redis+sentinel://HOST:26379,HOST:26379/NAME. Default: one node, state in memory.',
    SECRET,
  ),
  nodeSecret: define(
    'Storage',
    'NODE_SECRET',
    undefined,
    matching(/^.{16,}$/, 'must have at least 16 characters'),
    'Secret shared by all nodes; encrypts the messages between them in Redis. Default: generated once and stored in the shared PostgreSQL. Required with REDIS_URL and without PostgreSQL.',
    SECRET,
  ),
  journalRetentionDays: define(
    'Storage',
    'JOURNAL_RETENTION_DAYS',
    '30',
    wholeNumber(1, 3650),
    'Days to keep the journal (metadata, never text) and the GUIDs of inbound messages.',
  ),
  backupKey: define(
    'Storage',
    'BACKUP_KEY',
    undefined,
    matching(/^.{16,}$/, 'must have at least 16 characters'),
    'Key or passphrase that footbridge backup uses to encrypt and footbridge restore to decrypt. Keep a copy elsewhere: without it, no backup can be restored. Default: a prompt in the terminal.',
    SECRET,
  ),

  crmHost: define(
    'CRM',
    'CRM_HOSTNAME',
    'https://services.leadconnectorhq.com',
    webAddress,
    'The CRM API this service calls: a host name or an address.',
  ),
  crmPublicKey: define(
    'CRM',
    'CRM_PUBLIC_KEY',
    undefined,
    pem,
    'One Ed25519 public key (PEM) trusted for the header X-CRM-Signature. More keys: footbridge keys add.',
  ),
  crmLegacyPublicKey: define(
    'CRM',
    'CRM_LEGACY_PUBLIC_KEY',
    undefined,
    pem,
    'One RSA public key (PEM) trusted for the header X-WH-Signature.',
  ),
  crmKeysFile: define(
    'CRM',
    'CRM_KEYS_FILE',
    undefined,
    text,
    'JSON file with a list of keys: label, scheme, header, publicKey and optionally locations.',
  ),
  acceptedTypes: define(
    'CRM',
    'CRM_ACCEPTED_TYPES',
    'SMS',
    messageTypes,
    'Values of type that a webhook may have, separated by commas. SMS,Custom serves a CRM that delivers Custom for an added channel.',
  ),
  conversationProviderId: define(
    'CRM',
    'CRM_CONVERSATION_PROVIDER_ID',
    undefined,
    text,
    'Sent as conversationProviderId with inbound messages, for a provider that is an added channel.',
  ),
  inboundType: define(
    'CRM',
    'CRM_INBOUND_TYPE',
    'SMS',
    matching(MESSAGE_TYPE, 'must be a message type such as SMS or Custom'),
    'The type of inbound messages; an added channel needs Custom.',
  ),
  sendAltId: define(
    'CRM',
    'CRM_SEND_ALT_ID',
    'false',
    flag,
    'Send the GUID of each inbound message as altId. When a user replies to that message, the CRM returns it as replyToAltId, and the reply is threaded on the Mac.',
  ),
  crmApiVersion: define(
    'CRM',
    'CRM_API_VERSION',
    '2021-07-28',
    matching(/^(v\d{1,3}|\d{4}-\d{2}-\d{2})$/, 'must be a date such as 2021-07-28, or v3'),
    'The Version header of every call to the CRM.',
  ),
  statusWithGuid: define(
    'CRM',
    'STATUS_WITH_GUID',
    'false',
    flag,
    'Add messageGuid, the GUID of the sent message, to the status delivered. A reaction to that message needs it.',
  ),
  mirrorSent: define(
    'CRM',
    'CRM_MIRROR_SENT',
    'false',
    flag,
    'Add messages that the owner of a Mac types on it or on a phone to the CRM as outbound, for existing contacts only. The Mac needs FOOTBRIDGE_MIRROR=true.',
  ),
  optOutWords: define(
    'CRM',
    'OPT_OUT_WORDS',
    'false',
    flag,
    'When a customer sends only STOP, or another common opt-out word, remember it and set do not disturb for SMS in the CRM; START reverses both. Needs the scope contacts.write.',
  ),
  optOutEnforced: define(
    'CRM',
    'OPT_OUT_ENFORCED',
    'false',
    flag,
    'Reject webhooks to people who opted out, with STOP or by do not disturb in the CRM, with the code OPTED_OUT. false: the CRM decides.',
  ),
  reachFields: define(
    'CRM',
    'CRM_REACH_FIELD_ID',
    undefined,
    fieldIds,
    'Id of a custom field of contacts into which the service writes iMessage, SMS or unknown when it learns how a contact can be reached. Field ids differ between sub-accounts: use a list such as loc1=id1,loc2=id2. Needs the scope contacts.write.',
  ),
  createContacts: define(
    'CRM',
    'CRM_CREATE_CONTACTS',
    'true',
    flag,
    'Create a contact for an unknown sender. false: such messages stay on the Mac and can be delivered later.',
  ),
  uploadAttachments: define(
    'CRM',
    'CRM_UPLOAD_ATTACHMENTS',
    'false',
    flag,
    "Upload attachments to the CRM's own storage, which shows previews; falls back to the URL of this service.",
  ),
  footerOnPlainText: define(
    'CRM',
    'FOOTER_ON_PLAIN_TEXT',
    'false',
    flag,
    'End plain one-to-one texts with the metadata footer too. Tapbacks on them need it.',
  ),
  onUncertain: define(
    'CRM',
    'INBOUND_ON_UNCERTAIN',
    'retry',
    choice('retry', 'park'),
    "What to do with an inbound message when the CRM's response was lost and the conversation cannot be read: retry under the same idempotency key, or park it.",
  ),
  crmSettleSec: define(
    'CRM',
    'CRM_SETTLE_SEC',
    '20',
    wholeNumber(0, 600),
    'Seconds to wait after a lost response before the first read of the CRM, and after a status call that timed out before the next status of the message: until then the request may still be in flight.',
  ),
  crmReadLagSec: define(
    'CRM',
    'CRM_READ_LAG_SEC',
    '10',
    wholeNumber(0, 600),
    'Seconds between a read that did not find a message and the second read, which decides: reads of the CRM lag behind its writes.',
  ),
  httpsProxy: inEitherCase(
    define(
      'CRM',
      'HTTPS_PROXY',
      undefined,
      proxyAddress,
      'Proxy for calls to https:// addresses of the CRM, such as http://user:password@proxy.example:3128. Calls to this machine itself never use a proxy.',
      SECRET,
    ),
  ),
  httpProxy: inEitherCase(
    define('CRM', 'HTTP_PROXY', undefined, proxyAddress, 'The same for http:// addresses.', SECRET),
  ),
  noProxy: inEitherCase(
    define(
      'CRM',
      'NO_PROXY',
      undefined,
      text,
      'Hosts that are called without a proxy, separated by commas: example.com (subdomains included), *.example.com, example.com:8443, or * for all.',
    ),
  ),

  oauthEnabled: define(
    'OAuth',
    'CRM_OAUTH_ENABLED',
    'false',
    exactly('true'),
    'Exactly true enables OAuth: status callbacks and per-location tokens. Set a database for them too: DATABASE_URL=sqlite:./data/footbridge.sqlite, or PostgreSQL.',
  ),
  oauthClientId: define('OAuth', 'CRM_OAUTH_CLIENT_ID', undefined, text, 'Client id of the marketplace app.'),
  oauthClientSecret: define(
    'OAuth',
    'CRM_OAUTH_CLIENT_SECRET',
    undefined,
    text,
    'Client secret of the marketplace app.',
    SECRET,
  ),
  oauthTokenUrl: define('OAuth', 'CRM_OAUTH_TOKEN_URL', undefined, webAddress, 'Token endpoint of the CRM.'),
  oauthEncryptionKeys: define(
    'OAuth',
    'CRM_OAUTH_ENCRYPTION_KEY',
    undefined,
    encryptionKeys,
    'Key of 32 bytes for tokens at rest (64 hex digits, base64 or 32 characters). Several, newest first, separated by commas, to rotate.',
    SECRET,
  ),
  oauthDatabaseUrl: define(
    'OAuth',
    'CRM_OAUTH_DATABASE_URL',
    undefined,
    databaseUrl,
    'Database for the tokens; a sqlite: address is accepted. Default: DATABASE_URL, and one of the two is required for OAuth.',
    SECRET,
  ),
  oauthRefreshThresholdSec: define(
    'OAuth',
    'CRM_OAUTH_REFRESH_THRESHOLD_SEC',
    undefined,
    // Not a start error: with a non-numeric threshold the callback responds OAUTH_NOT_CONFIGURED (O3).
    (value) => (/^\d{1,7}$/.test(value) ? Number(value) : undefined),
    'Refresh a token this many seconds before it expires.',
  ),
  pitToken: define(
    'OAuth',
    'CRM_PIT_TOKEN',
    undefined,
    privateToken,
    'One private integration token; serves a location only while licenses own no other one.',
    SECRET,
  ),
  pitTokens: define(
    'OAuth',
    'CRM_PIT_TOKENS',
    undefined,
    tokenMap,
    'Private integration tokens by location: JSON, or loc1=pit-…,loc2=pit-….',
    SECRET,
  ),

  messageMaxLength: define(
    'Limits',
    'MESSAGE_BODY_MAX_LENGTH_CHARS',
    '20000',
    // A longer message with every character escaped would exceed the frame limit.
    wholeNumber(1, 30_000),
    'Maximum length of a message in UTF-16 code units, including the footer.',
  ),
  messageMaxAgeSec: define(
    'Limits',
    'MESSAGE_MAX_AGE_SEC',
    '0',
    wholeNumber(0, 30 * 86_400),
    'Reject webhooks whose timestamp or dateAdded is older than this many seconds with the code MESSAGE_TOO_OLD: the CRM retries failed webhooks for days. 0: no limit.',
  ),
  phoneDefaultCountry: define(
    'Limits',
    'PHONE_DEFAULT_COUNTRY',
    'US',
    matching(/^[A-Z]{2}$/, 'must be a two-letter country code'),
    'Country of phone numbers written without a country code.',
  ),
  webhookPerMinute: define(
    'Limits',
    'RATE_LIMIT_CRM_WEBHOOK',
    '60',
    wholeNumber(1, 1_000_000),
    'Webhooks per minute and location.',
  ),
  validateLocationId: define(
    'Limits',
    'RATE_LIMIT_VALIDATE_LOCATION_ID',
    'true',
    (value) => value !== 'false',
    'Exactly false accepts any locationId as a limiter key; otherwise malformed ones are counted by address.',
  ),
  replayMemory: define(
    'Limits',
    'REPLAY_MEMORY',
    'on',
    choice('on', 'off'),
    'Recognise a webhook without messageId that repeats an earlier one byte for byte within 24 hours: it gets 200 and no second text. off: every webhook is sent.',
  ),
  crmCallsPer10Sec: define(
    'Limits',
    'RATE_LIMIT_CRM_CALLS',
    '90',
    wholeNumber(1, 1_000_000),
    'Our own calls to the CRM per 10 seconds and location; the CRM allows 100.',
  ),
  unsignedPerMinute: define(
    'Limits',
    'RATE_LIMIT_UNSIGNED',
    '600',
    wholeNumber(1, 1_000_000),
    'Webhooks with an invalid signature per minute and address; above it the requests of that address are verified one per tick.',
  ),
  oauthPerMinute: define(
    'Limits',
    'RATE_LIMIT_OAUTH_CALLBACK',
    '20',
    wholeNumber(1, 1_000_000),
    'OAuth callbacks per minute and address.',
  ),
  healthPerMinute: define(
    'Limits',
    'RATE_LIMIT_HEALTH',
    '30',
    wholeNumber(1, 1_000_000),
    'GET /health per minute and address.',
  ),
  healthProbePerMinute: define(
    'Limits',
    'RATE_LIMIT_HEALTH_PROBE',
    '15',
    wholeNumber(1, 1_000_000),
    'GET /health?pm2= per minute and address.',
  ),
  enrolmentPerMinute: define(
    'Limits',
    'RATE_LIMIT_ENROLMENT',
    '6000',
    wholeNumber(1, 1_000_000),
    'Mac activations per minute and address; wrong license keys lock the address out sooner.',
  ),
  socketPerMinute: define(
    'Limits',
    'RATE_LIMIT_MAC_SOCKET',
    '30000',
    wholeNumber(1, 10_000_000),
    'Mac connection attempts per minute and address.',
  ),

  heartbeatSec: define(
    'Macs',
    'MAC_HEARTBEAT_SEC',
    '15',
    wholeNumber(1, 300),
    'Seconds between pings to a Mac; two unanswered ones end its session.',
  ),
  maxSessions: define(
    'Macs',
    'MAC_MAX_SESSIONS',
    '50000',
    wholeNumber(1, 1_000_000),
    'Macs that may be connected to this node; others get 503 and try again, at another node if there is one.',
  ),
  locationClaim: define(
    'Macs',
    'LOCATION_CLAIM',
    'auto',
    choice('auto', 'first', 'operator'),
    'Which license may take a location without an owner. auto: any while there is a single license; from the second license on the operator assigns it (footbridge location assign, footbridge device pair). first: the first one whose Mac registers for it, which can then read the texts of a later tenant. operator: only the one the operator assigns.',
  ),

  assetStore: define(
    'Assets',
    'ASSET_STORE',
    'disk',
    choice('disk', 's3'),
    'Where attachments are kept: in DATA_DIR, or in an S3-compatible bucket.',
  ),
  assetRetentionDays: define(
    'Assets',
    'ASSET_RETENTION_DAYS',
    '90',
    wholeNumber(1, 3650),
    'Days to keep attachments.',
  ),
  assetQuotaMb: define(
    'Assets',
    'ASSET_QUOTA_MB',
    '10240',
    wholeNumber(1, 100_000_000),
    'Maximum megabytes of attachments per location.',
  ),
  assetQuotaSeatMb: define(
    'Assets',
    'ASSET_QUOTA_SEAT_MB',
    '10240',
    wholeNumber(1, 100_000_000),
    'Maximum megabytes of attachments per license, for each of its seats, over all its locations.',
  ),
  mediaHeic: define(
    'Assets',
    'MEDIA_HEIC',
    'on',
    choice('on', 'off'),
    'Convert HEIC images. off: they are delivered as HEIC. See docs/attachments.md for the license of the decoder.',
  ),
  s3Endpoint: define(
    'Assets',
    'ASSET_S3_ENDPOINT',
    undefined,
    webAddress,
    'Address of the bucket, bucket name included.',
  ),
  s3Region: define('Assets', 'ASSET_S3_REGION', 'auto', text, 'Region of the bucket.'),
  s3AccessKeyId: define('Assets', 'ASSET_S3_ACCESS_KEY_ID', undefined, text, 'Access key of the bucket.'),
  s3SecretAccessKey: define(
    'Assets',
    'ASSET_S3_SECRET_ACCESS_KEY',
    undefined,
    text,
    'Secret of that access key.',
    SECRET,
  ),

  alertWebhookUrl: define(
    'Alerts',
    'ALERT_WEBHOOK_URL',
    undefined,
    receiverUrl,
    'Receives each change of an issue as a signed request in the format of Standard Webhooks.',
    SECRET,
  ),
  alertWebhookSecret: define(
    'Alerts',
    'ALERT_WEBHOOK_SECRET',
    undefined,
    webhookSecret,
    'Secret of the signatures for ALERT_WEBHOOK_URL: whsec_ and the output of openssl rand -base64 32.',
    SECRET,
  ),
  alertSlackUrl: define(
    'Alerts',
    'ALERT_SLACK_URL',
    undefined,
    receiverUrl,
    'Incoming webhook of a Slack channel.',
    SECRET,
  ),
  alertTeamsUrl: define(
    'Alerts',
    'ALERT_TEAMS_URL',
    undefined,
    receiverUrl,
    'Incoming webhook of a Teams channel, made with Workflows.',
    SECRET,
  ),
  alertSmtpUrl: define(
    'Alerts',
    'ALERT_SMTP_URL',
    undefined,
    smtpUrl,
    'Mail server for alerts: smtps:// for TLS, smtp:// for STARTTLS, with user name and password if it requires them.',
    SECRET,
  ),
  alertEmailFrom: define(
    'Alerts',
    'ALERT_EMAIL_FROM',
    undefined,
    matching(MAIL_ADDRESS, 'must be a mail address such as footbridge@example.com'),
    'Sender of alerts by mail. Required with ALERT_SMTP_URL.',
  ),
  alertEmailTo: define(
    'Alerts',
    'ALERT_EMAIL_TO',
    undefined,
    mailAddresses,
    'Recipients of alerts by mail, separated by commas. Required with ALERT_SMTP_URL.',
  ),
  alertQuietHours: define(
    'Alerts',
    'ALERT_QUIET_HOURS',
    undefined,
    quietHours,
    'Hours without alerts, such as 22:00-07:00 Europe/Berlin; UTC unless a time zone is given. What happens during these hours is sent afterwards, as a digest.',
  ),
  alertReminderHours: define(
    'Alerts',
    'ALERT_REMINDER_HOURS',
    '24',
    wholeNumber(0, 720),
    'Hours after which an open issue is sent again; 0: never.',
  ),
  alertAllowPrivate: define(
    'Alerts',
    'ALERT_ALLOW_PRIVATE',
    'false',
    flag,
    'Allow receivers with private addresses and http: addresses.',
  ),

  otlpEndpoint: define(
    'Telemetry',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    undefined,
    webAddress,
    'Base address of an OpenTelemetry collector, such as http://127.0.0.1:4318. Traces and metrics are sent to it as OTLP over HTTP with JSON.',
  ),
  otlpTracesEndpoint: define(
    'Telemetry',
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    undefined,
    webAddress,
    'Full address for traces. Default: OTEL_EXPORTER_OTLP_ENDPOINT followed by /v1/traces.',
  ),
  otlpMetricsEndpoint: define(
    'Telemetry',
    'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    undefined,
    webAddress,
    'Full address for metrics. Default: OTEL_EXPORTER_OTLP_ENDPOINT followed by /v1/metrics.',
  ),
  otlpHeaders: define(
    'Telemetry',
    'OTEL_EXPORTER_OTLP_HEADERS',
    undefined,
    pairs,
    'Headers of the requests to the collector, such as authorization=Bearer%20TOKEN.',
    SECRET,
  ),
  tracesExporter: define(
    'Telemetry',
    'OTEL_TRACES_EXPORTER',
    'otlp',
    choice('otlp', 'none'),
    'none sends no traces.',
  ),
  metricsExporter: define(
    'Telemetry',
    'OTEL_METRICS_EXPORTER',
    'otlp',
    choice('otlp', 'none'),
    'none sends no metrics; Prometheus can still scrape them.',
  ),
  tracesSampler: define(
    'Telemetry',
    'OTEL_TRACES_SAMPLER',
    'parentbased_always_on',
    choice(
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ),
    'Which messages are traced. With parentbased_, the traceparent header of the webhook decides, if there is one.',
  ),
  tracesSamplerArg: define(
    'Telemetry',
    'OTEL_TRACES_SAMPLER_ARG',
    '1',
    ratio,
    'Fraction of messages that traceidratio traces, from 0 to 1.',
  ),
  metricExportIntervalMs: define(
    'Telemetry',
    'OTEL_METRIC_EXPORT_INTERVAL',
    '60000',
    wholeNumber(100, 3_600_000),
    'Milliseconds between exports of metrics.',
  ),
  serviceName: define(
    'Telemetry',
    'OTEL_SERVICE_NAME',
    'footbridge',
    text,
    'Name of the service in traces and metrics.',
  ),
  resourceAttributes: define(
    'Telemetry',
    'OTEL_RESOURCE_ATTRIBUTES',
    undefined,
    pairs,
    'Additional attributes of all traces and metrics, such as deployment.environment.name=production.',
  ),

  allowInsecure: define(
    'Process',
    'ALLOW_INSECURE',
    'false',
    flag,
    'true accepts http: addresses of the CRM and trivial secrets, for tests on a private network. Calls to this machine itself may always use http:.',
  ),
  logLevel: define(
    'Process',
    'LOG_LEVEL',
    'info',
    choice('debug', 'info', 'warn', 'error', 'silent'),
    'Minimum level that is logged.',
  ),
  accessLog: define(
    'Process',
    'ACCESS_LOG',
    'false',
    flag,
    'Log each response: method, route, status, duration, size and request id, but no path, query, phone number or message text.',
  ),
  failpoints: define(
    'Process',
    'FAILPOINTS',
    undefined,
    failpoints,
    'For crash tests only: points at which the process exits, pauses or throws.',
  ),
} as const;
