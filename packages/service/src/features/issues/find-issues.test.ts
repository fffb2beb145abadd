import { expect, test } from 'vitest';

import { findIssues } from './find-issues.ts';
import type { IssueFacts } from './find-issues.ts';

const AT = Date.parse('2026-11-15T09:12:00Z');

const facts = (changed: Partial<IssueFacts> = {}): IssueFacts => ({
  tenants: [],
  uncertain: [],
  setAside: [],
  unreadableTokens: [],
  rejectedSignatures: { count: 0, since: AT },
  seatsRefused: new Map(),
  licenses: [],
  contended: new Map(),
  separations: new Set(),
  licenseOf: new Map(),
  clock: undefined,
  disk: { host: 'one', freeBytes: 50e9, totalBytes: 100e9 },
  ...changed,
});

const tenant = (kind: string | null, hadMac = true): Partial<IssueFacts> => ({
  tenants: [
    {
      locationId: 'loc1',
      hadMac,
      isMacAway: false,
      broken: [{ kind, sentence: 'It broke.', action: 'Fix it.', since: AT }],
    },
  ],
});

const license = (used: number) => ({
  id: 'l1',
  label: 'Agency',
  seats: { used, max: 2 },
  locationIds: ['loc1'],
});

test('finds no issues by default', () => {
  expect(findIssues(facts())).toEqual([]);
});

test.each<[string, Partial<IssueFacts>, RegExp, RegExp]>([
  ['grant_revoked', tenant('grant_revoked'), /It broke/, /Fix it/],
  ['mac_offline', tenant('mac_offline'), /It broke/, /Fix it/],
  ['messages_signed_out', tenant('messages_signed_out'), /It broke/, /Fix it/],
  ['permission_lost', tenant('permission_lost'), /It broke/, /Fix it/],
  ['queue_old', tenant('queue_old'), /It broke/, /Fix it/],
  ['crm_rejecting', tenant('crm_rejecting'), /It broke/, /Fix it/],
  [
    'signatures_rejected',
    { rejectedSignatures: { count: 5, since: AT } },
    /^5 webhooks got 401/,
    /footbridge keys test/,
  ],
  [
    'deliveries_uncertain',
    {
      uncertain: [
        { locationId: 'loc1', state: 'undeliverable', createdAt: AT },
        { locationId: 'loc1', state: 'delivered', createdAt: AT },
        { locationId: 'loc1', state: 'delivered', createdAt: AT },
      ],
    },
    /may be missing 1 inbound message. The CRM may have 2 inbound messages twice/,
    /Redeliver those that are missing. Delete the copies of those that are there twice/,
  ],
  [
    'messages_set_aside',
    {
      setAside: [
        { kind: 'outbound', locationId: 'loc1', at: AT + 1 },
        { kind: 'inbound', locationId: 'loc1', at: AT + 1 },
        { kind: 'file', locationId: 'loc1', at: AT },
      ],
    },
    /^2 messages are set aside: .* 1 file is stored unexamined: /,
    /footbridge redeliver ID/,
  ],
  [
    'tokens_unreadable',
    {
      unreadableTokens: [
        { kind: 'company', ownerId: 'comp1' },
        { kind: 'location', ownerId: 'loc1' },
        { kind: 'location', ownerId: 'loc2' },
      ],
    },
    /cannot be called for 1 agency and 2 locations. .* CRM_OAUTH_ENCRYPTION_KEY/,
    /Add the former key .* install the app again/,
  ],
  [
    'seats_exhausted',
    { seatsRefused: new Map([['l1', { count: 1, since: AT }]]), licenses: [license(2)] },
    /all 2 seats of the license “Agency” are taken/,
    /footbridge license seats/,
  ],
  [
    'location_contended',
    { contended: new Map([['loc1', { count: 9, since: AT }]]) },
    /displace each other/,
    /stop the agent on all but one/,
  ],
  [
    'disk_almost_full',
    { disk: { host: 'one', freeBytes: 4e9, totalBytes: 100e9 } },
    /one has 4000 MB left of 100000 MB/,
    /Free space/,
  ],
  [
    'clock_doubtful',
    { clock: { agrees: false, because: 'other_machine', aheadMs: 90 * 86_400_000 } },
    /clock of one is 90 days ahead, compared with the CRM's. Expired data is not deleted/,
    /Set the clock of one/,
  ],
  [
    'clock_doubtful',
    { clock: { agrees: false, because: 'step', aheadMs: -90 * 86_400_000 } },
    /clock of one jumped, it is 90 days behind/,
    /restart the service/,
  ],
  [
    'clock_doubtful',
    { clock: { agrees: false, because: 'old_rows', aheadMs: 90 * 86_400_000 } },
    /CRM does not respond, and compared with the newest message it is 90 days ahead/,
    /the next message confirms it/,
  ],
  [
    'nodes_separate',
    { separations: new Set(['redis', 'secret'] as const) },
    /^Nodes of this database have different values of NODE_SECRET, or use different Redis servers: /,
    /^Set NODE_SECRET .* Set REDIS_URL /,
  ],
])('%s', (kind, changed, sentence, action) => {
  const [found, ...others] = findIssues(facts(changed));
  expect(others).toEqual([]);
  expect(found?.kind).toBe(kind);
  expect(found?.sentence).toMatch(sentence);
  expect(found?.action).toMatch(action);
});

test.each<[string, Partial<IssueFacts>]>([
  ['a location that never had a Mac', tenant('mac_offline', false)],
  ['a sub-account in which the app was never installed', tenant(null)],
  ['a few webhooks with a wrong signature', { rejectedSignatures: { count: 4, since: AT } }],
  [
    'a refused Mac, once a seat is free',
    { seatsRefused: new Map([['l1', { count: 1, since: AT }]]), licenses: [license(1)] },
  ],
  ['a full license that refused no Mac', { licenses: [license(2)] }],
])('%s is not an issue', (_name, changed) => {
  expect(findIssues(facts(changed))).toEqual([]);
});
