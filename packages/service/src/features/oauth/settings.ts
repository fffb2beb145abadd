import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { fail, matching, text, webAddress, wholeNumber } from '../../platform/settings/parsers.ts';
import { SECRET, settingIn, without } from '../../platform/settings/setting.ts';
import type { Findings, Given, ValuesOf } from '../../platform/settings/setting.ts';
import { databaseOf, databaseUrl } from '../../platform/sql/settings.ts';
import type { DatabaseConfig, STORAGE } from '../../platform/sql/settings.ts';
import type { CLUSTER } from '../../relay/switchboard/settings.ts';

/** 32 bytes as 64 hex digits, base64, or 32 plain characters; several, newest first, separated by commas (O6). */
const parseKeys = (value: string): Buffer[] =>
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

const setting = settingIn('OAuth');
const limit = settingIn('Limits');

/** The tokens for calls to the CRM. */
export const OAUTH = {
  oauthEnabled: setting(
    'CRM_OAUTH_ENABLED',
    'false',
    (value) => value === 'true',
    'Exactly true enables OAuth: status callbacks and per-location tokens. Set a database for them too: DATABASE_URL=sqlite:./data/footbridge.sqlite, or PostgreSQL.',
  ),
  oauthClientId: setting('CRM_OAUTH_CLIENT_ID', undefined, text, 'Client id of the marketplace app.'),
  oauthClientSecret: setting(
    'CRM_OAUTH_CLIENT_SECRET',
    undefined,
    text,
    'Client secret of the marketplace app.',
    SECRET,
  ),
  oauthTokenUrl: setting('CRM_OAUTH_TOKEN_URL', undefined, webAddress, 'Token endpoint of the CRM.', {
    mustBe: 'https',
  }),
  oauthEncryptionKeys: setting(
    'CRM_OAUTH_ENCRYPTION_KEY',
    undefined,
    parseKeys,
    'Key of 32 bytes for tokens at rest (64 hex digits, base64 or 32 characters). Several, newest first, separated by commas, to rotate.',
    { ...SECRET, mustBe: 'random' },
  ),
  oauthDatabaseUrl: setting(
    'CRM_OAUTH_DATABASE_URL',
    undefined,
    databaseUrl,
    'Database for the tokens; a sqlite: address is accepted. Default: DATABASE_URL, and one of the two is required for OAuth.',
    SECRET,
  ),
  oauthRefreshThresholdSec: setting(
    'CRM_OAUTH_REFRESH_THRESHOLD_SEC',
    undefined,
    // Not a start error: with a non-numeric threshold the callback responds OAUTH_NOT_CONFIGURED (O3).
    (value) => (/^\d{1,7}$/.test(value) ? Number(value) : undefined),
    'Refresh a token this many seconds before it expires.',
  ),
  pitToken: setting(
    'CRM_PIT_TOKEN',
    undefined,
    privateToken,
    'One private integration token; serves a location only while licenses own no other one.',
    SECRET,
  ),
  pitTokens: setting(
    'CRM_PIT_TOKENS',
    undefined,
    tokenMap,
    'Private integration tokens by location: JSON, or loc1=pit-…,loc2=pit-….',
    SECRET,
  ),
  oauthPerMinute: limit(
    'RATE_LIMIT_OAUTH_CALLBACK',
    '20',
    wholeNumber(1, 1_000_000),
    'OAuth callbacks per minute and address.',
  ),
} as const;

/** The app at the CRM. */
export type OAuthApp =
  | { state: 'disabled' }
  | { state: 'incomplete'; missing: readonly string[] }
  | {
      state: 'ready';
      clientId: string;
      clientSecret: string;
      tokenUrl: string;
      encryptionKeys: readonly Buffer[];
      refreshThresholdSec: number;
      /** Undefined: the tokens are in the main database. */
      database: DatabaseConfig | undefined;
    };

type Values = ValuesOf<typeof OAUTH & typeof STORAGE>;

/** Returns the names of the settings that are missing for OAuth. */
function missingOf(settings: Partial<Values>): string[] {
  const needed = {
    CRM_OAUTH_CLIENT_ID: settings.oauthClientId,
    CRM_OAUTH_CLIENT_SECRET: settings.oauthClientSecret,
    CRM_OAUTH_TOKEN_URL: settings.oauthTokenUrl,
    CRM_OAUTH_ENCRYPTION_KEY: settings.oauthEncryptionKeys,
    CRM_OAUTH_REFRESH_THRESHOLD_SEC: settings.oauthRefreshThresholdSec,
    // The default file in DATA_DIR does not count: the operator chooses where tokens are kept (O3).
    CRM_OAUTH_DATABASE_URL: settings.oauthDatabaseUrl ?? settings.databaseUrl,
  };
  return Object.entries(needed)
    .filter(([, value]) => value === undefined)
    .map(([name]) => name);
}

/** Returns the app at the CRM, or the names of its missing settings. */
export function oauthApp(settings: Values): OAuthApp {
  if (!settings.oauthEnabled) return { state: 'disabled' };
  const {
    oauthClientId: clientId,
    oauthClientSecret: clientSecret,
    oauthTokenUrl: tokenUrl,
    oauthEncryptionKeys: encryptionKeys,
    oauthRefreshThresholdSec: refreshThresholdSec,
  } = settings;
  const missing = missingOf(settings);
  if (
    missing.length > 0 ||
    clientId === undefined ||
    clientSecret === undefined ||
    tokenUrl === undefined ||
    encryptionKeys === undefined ||
    refreshThresholdSec === undefined
  )
    return { state: 'incomplete', missing };
  const own = databaseOf(settings.oauthDatabaseUrl ?? settings.databaseUrl, settings.dataDir);
  const isMain = isSame(own, databaseOf(settings.databaseUrl, settings.dataDir));
  return {
    state: 'ready',
    clientId,
    clientSecret,
    tokenUrl,
    encryptionKeys,
    refreshThresholdSec,
    database: isMain ? undefined : own,
  };
}

/** Two connections to one SQLite file would block each other. */
const isSame = (one: DatabaseConfig, other: DatabaseConfig): boolean =>
  one.engine === 'sqlite' && other.engine === 'sqlite'
    ? resolve(one.file) === resolve(other.file)
    : isDeepStrictEqual(one, other);

export function oauthFindings(settings: Partial<Values & ValuesOf<typeof CLUSTER>>, given: Given): Findings {
  const missing = settings.oauthEnabled === true && given.isValid ? missingOf(settings) : [];
  const are = missing.length === 1 ? 'is' : 'are';
  const needEnabled = /^CRM_OAUTH_(CLIENT_ID|CLIENT_SECRET|TOKEN_URL|DATABASE_URL|REFRESH_THRESHOLD_SEC)$/;
  return {
    warnings: [
      ...(settings.oauthEnabled === true ? [] : without('CRM_OAUTH_ENABLED=true', given, needEnabled)),
      ...(settings.redisUrl !== undefined && settings.oauthEncryptionKeys === undefined
        ? [
            'REDIS_URL is set without CRM_OAUTH_ENCRYPTION_KEY: each node hashes phone numbers with its own key, so it does not apply opt-outs that another node recorded; set the same key on every node',
          ]
        : []),
      ...(missing.length === 0
        ? []
        : [
            `OAuth is enabled, but ${missing.join(', ')} ${are} missing: the app cannot be installed, and no statuses are sent`,
          ]),
    ],
  };
}
