import { expect, it } from 'vitest';

import { findingsOf } from './check-tenants.ts';
import type { Problem } from './tenant-path.ts';

const problem = (kind: string | null): Problem => ({
  link: 'mac',
  kind,
  sentence: 'It broke.',
  action: 'Fix it.',
  since: 0,
  isDead: false,
});
const HAD_MAC = {
  locationId: 'loc1',
  licenseId: 'l1',
  state: 'bound',
  lastDevice: { id: 'd1', deviceId: 'mac1', name: 'Mini', lastSeenAt: 0 },
} as const;

it.each([
  'grant_revoked',
  'mac_offline',
  'messages_signed_out',
  'permission_lost',
  'queue_old',
  'crm_rejecting',
])('a broken link is an issue of its location and license: %s', (kind) => {
  expect(findingsOf(HAD_MAC, [problem(kind)])).toEqual([
    {
      kind,
      subject: 'loc1',
      locationIds: ['loc1'],
      licenseId: 'l1',
      sentence: 'It broke.',
      action: 'Fix it.',
      since: 0,
    },
  ]);
});

it('a location that never had a Mac is not an issue, nor a sub-account in which the app was never installed', () => {
  expect(findingsOf({ ...HAD_MAC, lastDevice: null }, [problem('mac_offline')])).toEqual([]);
  expect(findingsOf(HAD_MAC, [problem(null)])).toEqual([]);
});
