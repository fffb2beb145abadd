import type { Settings as SettingsOf } from '@footbridge/runtime/settings';

import type { SETTINGS } from './settings.ts';

type Settings = Partial<SettingsOf<typeof SETTINGS>>;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;
const MIN_DISTINCT = 6;
const COMMON =
  /^(?:change|me|my|password|secret|token|test|example|admin|letmein|qwerty|operator|node|key|[-_ \d])+$/i;
const ALLOW = 'set ALLOW_INSECURE=true for a test on a private network';

/** Returns the settings that would expose tokens and texts: unencrypted calls to the CRM, and secrets that are easily guessed. */
export function insecure(settings: Settings): string[] {
  const addresses = { CRM_HOSTNAME: settings.crmHost, CRM_OAUTH_TOKEN_URL: settings.oauthTokenUrl };
  const problems = Object.entries(addresses)
    .filter(([, address]) => address !== undefined && isUnencrypted(new URL(address)))
    .map(([name]) => `${name} must be an https: address, because tokens and texts are sent to it; ${ALLOW}`);
  if (LOOPBACK.test(settings.host ?? '') && LOOPBACK.test(settings.adminHost ?? '')) return problems;
  const secrets = {
    OPERATOR_TOKEN: [settings.operatorToken],
    NODE_SECRET: [settings.nodeSecret],
    CRM_OAUTH_ENCRYPTION_KEY: settings.oauthEncryptionKeys?.map((key) => key.toString('latin1')) ?? [],
  };
  const weak = Object.entries(secrets).filter(([, values]) =>
    values.some((secret) => secret !== undefined && isTrivial(secret)),
  );
  return [
    ...problems,
    ...weak.map(([name]) => `${name} is easily guessed; use the output of openssl rand -hex 32, or ${ALLOW}`),
  ];
}

const isUnencrypted = ({ protocol, hostname }: URL) => protocol === 'http:' && !LOOPBACK.test(hostname);

const isTrivial = (secret: string) => new Set(secret).size < MIN_DISTINCT || COMMON.test(secret);
