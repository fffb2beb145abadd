// Prints the address that connects a location to the bridge: node install.mjs LOCATION. Open it within ten minutes.
import { issueToken } from '@footbridge/kit';

const { BRIDGE_URL = '', CRM_OAUTH_CLIENT_SECRET = '' } = process.env;
const code = await issueToken('code', process.argv[2] ?? '', CRM_OAUTH_CLIENT_SECRET);
console.log(new URL(`/oauth/callback/crm?code=${code}`, BRIDGE_URL).href);
