import type { Shape } from './response-shape.ts';

const KEY = { id: 'text', label: 'text', scheme: 'text', header: 'text', fingerprint: 'text' } as const;
const LICENSE = {
  id: 'text',
  label: 'text',
  keyHint: 'text',
  status: 'text',
  maxSeats: 'number',
  seats: { used: 'number', max: 'number' },
} as const;
const LOCATION = { locationId: 'text', state: 'text' } as const;
const DEVICE = { id: 'text', deviceId: 'text', name: 'text', status: 'text', locations: ['text'] } as const;
const TOKEN = { id: 'text', label: 'text', readOnly: 'flag' } as const;
const STEP = { at: 'text', step: 'text' } as const;
const MESSAGE = {
  id: 'text',
  direction: 'text',
  locationId: 'text',
  kind: 'text',
  status: 'text',
  createdAt: 'text',
  updatedAt: 'text',
} as const;
const REQUEST = { ...MESSAGE, steps: [STEP] } as const;
const ADDRESS = { url: 'text', status: 'number', ms: 'number' } as const;
const LINK = { name: 'text', state: 'text', sentence: 'text' } as const;

/** 204, without a body. */
const NOTHING = undefined;

/**
 * The responses of the operator API, by method and path; `*` matches one path segment. A response that lacks a field does not come
 * from a service of this version.
 */
const RESPONSES: Readonly<Record<string, Shape | undefined>> = {
  'GET /readyz': { status: 'text' },
  'GET /operator/alerts': { receivers: [{ name: 'text', target: 'text' }] },
  'POST /operator/alerts/test': { results: [{ name: 'text', target: 'text', sent: 'flag' }] },
  'GET /operator/audit': { entries: [{ at: 'text', action: 'text', target: 'text' }] },
  'GET /operator/crm-app': { deliveryUrl: 'text', redirectUrl: 'text', oauth: 'text' },
  'GET /operator/devices': { devices: [DEVICE] },
  'POST /operator/devices/*/revoke': DEVICE,
  'POST /operator/devices/*/restore': DEVICE,
  'GET /operator/diagnosis': {
    version: 'text',
    uptimeSec: 'number',
    settings: {
      warnings: ['text'],
      oauth: 'text',
      missing: ['text'],
      crmHost: 'text',
      inboundType: 'text',
      database: 'text',
      nodes: 'text',
    },
    crm: ADDRESS,
    publicAddress: { ...ADDRESS, identity: 'text' },
  },
  'GET /operator/grants': { grants: [{ kind: 'text', ownerId: 'text', state: 'text', refreshedAt: 'text' }] },
  'GET /operator/issues': {
    issues: [{ id: 'text', kind: 'text', sentence: 'text', action: 'text', since: 'text' }],
  },
  'GET /operator/keys': { keys: [{ ...KEY, publicKey: 'text', enabled: 'flag' }] },
  'POST /operator/keys': KEY,
  'PATCH /operator/keys/*': KEY,
  'DELETE /operator/keys/*': NOTHING,
  'GET /operator/keys/rejections': { rejections: [{ step: 'text', count: 'number', lastAt: 'text' }] },
  'GET /operator/licenses': { licenses: [LICENSE] },
  'POST /operator/licenses': { id: 'text', key: 'text', label: 'text', maxSeats: 'number' },
  'PATCH /operator/licenses/*': LICENSE,
  'GET /operator/locations': { locations: [LOCATION] },
  'PUT /operator/locations/*': LOCATION,
  'PUT /operator/locations/*/capture': { until: 'text' },
  'DELETE /operator/locations/*/capture': NOTHING,
  'GET /operator/locations/*/crm-check': { calls: [{ scope: 'text', ok: 'flag', status: 'number' }] },
  'POST /operator/locations/*/disconnect': { wasConnected: 'flag' },
  'PUT /operator/locations/*/opt-outs': NOTHING,
  'POST /operator/locations/*/opt-outs/import': { imported: 'number', invalid: ['number'] },
  'POST /operator/locations/*/pairing-codes': {
    locationId: 'text',
    license: 'text',
    code: 'text',
    expiresAt: 'text',
  },
  'GET /operator/locations/*/reach': { phone: 'text', reach: 'text', reason: 'text' },
  'GET /operator/messages': { messages: [MESSAGE] },
  'GET /operator/messages/*': { ...REQUEST, requests: [REQUEST] },
  'POST /operator/messages/*/redeliver': { id: 'text', locationId: 'text' },
  'GET /operator/opt-outs': { key: 'text', optOuts: [{ locationId: 'text', hash: 'text', source: 'text' }] },
  'POST /operator/privacy/erase': { messages: 'number', files: 'number', optOutsKept: 'number' },
  'POST /operator/privacy/export': { messages: [{}] },
  'GET /operator/privacy/retention': {
    defaults: { journalDays: 'number', assetDays: 'number' },
    locations: [{ locationId: 'text' }],
  },
  'PUT /operator/privacy/retention/*': { locationId: 'text' },
  'GET /operator/session': { label: 'text', readOnly: 'flag' },
  'POST /operator/session/codes': { code: 'text', expiresAt: 'text' },
  'GET /operator/tenants': { tenants: [{ locationId: 'text', links: [LINK] }] },
  'GET /operator/tokens': { tokens: [TOKEN] },
  'POST /operator/tokens': { ...TOKEN, token: 'text' },
  'DELETE /operator/tokens/*': NOTHING,
};

const PATTERNS = Object.entries(RESPONSES).map(([line, shape]) => ({
  pattern: new RegExp(`^${line.replaceAll('*', '[^/]+')}$`),
  shape,
}));

/** Returns the shape of the response to a call; undefined if it has no content. Throws for a call that is not in the table. */
export function responseOf(method: string, path: string): Shape | undefined {
  const [pathname = ''] = path.split('?');
  const line = `${method} ${pathname}`;
  // An exact entry wins: `/operator/keys/rejections` is not a key named `rejections`.
  if (Object.hasOwn(RESPONSES, line)) return RESPONSES[line];
  const found = PATTERNS.find(({ pattern }) => pattern.test(line));
  if (found === undefined) throw new Error(`${line} is not in the table of operator responses`);
  return found.shape;
}
