import { randomBytes } from 'node:crypto';
import type { Crm } from './crm.ts';

/** Returns the settings of a service that trusts this CRM's key and uses its OAuth app. */
export const crmEnv = (crm: Crm): Record<string, string> => ({
  CRM_HOSTNAME: crm.url,
  CRM_PUBLIC_KEY: crm.key.publicKey,
  CRM_OAUTH_ENABLED: 'true',
  CRM_OAUTH_CLIENT_ID: crm.settings.clientId,
  CRM_OAUTH_CLIENT_SECRET: crm.settings.clientSecret,
  CRM_OAUTH_TOKEN_URL: crm.tokenUrl,
  CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
});
