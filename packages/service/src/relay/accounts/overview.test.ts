import type { LocationId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { Slot } from '../../platform/extension-points.ts';
import { NO_GRANTS } from '../crm/tokens.ts';
import type { CrmGrants } from '../crm/tokens.ts';
import { Overview } from './overview.ts';
import type { LocationPlace } from './overview.ts';

const LOCATION = 'location-0' as LocationId;
const GRANT = {
  kind: 'location',
  companyId: null,
  state: 'active',
  expiresAt: 1,
  refreshedAt: 0,
  lastError: null,
} as const;

const macOf = (deviceId: string) => ({
  locationId: LOCATION,
  deviceId,
  sessionId: 's1',
  epoch: 1,
  since: 0,
  node: 'node-1',
});

interface Known {
  readonly connected?: string;
  readonly granted?: readonly string[];
}

function start(count: number, { connected, granted = [] }: Known = {}) {
  const all = Array.from({ length: count }, (_, index) => ({
    locationId: `location-${index}`,
    state: 'bound' as const,
    licenseId: 'lic_1',
    license: 'Office',
    claimed: false,
    lastDevice: { id: 'dev_1', deviceId: 'mac-1', name: 'Desk', lastSeenAt: 0 },
  })).sort((one, other) => (one.locationId < other.locationId ? -1 : 1));
  const clock = new FakeClock();
  const reads = { count: 0 };
  const overview = new Overview({
    licenses: { list: async () => [] },
    devices: {
      list: async () => [],
      name: async (licenseId, deviceId) =>
        `${licenseId} ${deviceId}` === 'lic_1 mac-2' ? 'Shelf' : undefined,
      find: async () => undefined,
    },
    locations: {
      owners: async () => new Map(),
      find: async (ids) => all.filter(({ locationId }) => ids.includes(locationId)),
      async list(after, limit) {
        reads.count++;
        return all.filter(({ locationId }) => locationId > after).slice(0, limit);
      },
    },
    switchboard: {
      boundMacs: async () => [],
      viewMacs: async () => new Map(connected === undefined ? [] : [[LOCATION, macOf(connected)]]),
    },
    grants: new Slot<CrmGrants>('grants', {
      ...NO_GRANTS,
      listLocationIds: async ({ limit, after } = { limit: Infinity, after: '' }) =>
        granted.filter((id) => id > after).slice(0, limit),
      ofLocations: async (locationIds) =>
        granted.filter((id) => locationIds.includes(id)).map((ownerId) => ({ ...GRANT, ownerId })),
    }),
    clock,
    takeOvers: () => ({ count: 0, isAlternating: false }),
  });
  return { overview, clock, reads };
}

it('reads many locations at most once a second for the lists that pages request often', async () => {
  const { overview, clock, reads } = start(200);
  expect(await overview.recentLocations()).toHaveLength(200);
  const once = reads.count;
  expect(once).toBeGreaterThan(0);
  expect(await overview.recentLocations()).toHaveLength(200);
  expect(reads.count).toBe(once);
  await clock.advance(1000);
  await overview.recentLocations();
  expect(reads.count).toBe(2 * once);
  await overview.locations();
  expect(reads.count).toBe(3 * once);
});

it('reads a few locations every time', async () => {
  const { overview, reads } = start(199);
  await overview.recentLocations();
  const once = reads.count;
  expect(once).toBeGreaterThan(0);
  await overview.recentLocations();
  expect(reads.count).toBe(2 * once);
});

it('reads one location without listing the others, and returns undefined for an unknown one', async () => {
  const { overview, reads } = start(1);
  expect(await overview.location('location-0')).toMatchObject({ locationId: 'location-0', connected: null });
  expect(await overview.location('location-1')).toBeUndefined();
  expect(reads.count).toBe(0);
});

it('names the connected Mac, even when another one bound the location last', async () => {
  const { overview } = start(1, { connected: 'mac-2' });
  expect(await overview.location('location-0')).toMatchObject({
    lastDevice: { deviceId: 'mac-1', name: 'Desk' },
    connected: { deviceId: 'mac-2', name: 'Shelf' },
  });
});

it('lists locations of several pages and those that only have a grant, in the order of their ids', async () => {
  const { overview } = start(450, { granted: ['a-granted', 'location-7', 'z-granted'] });
  const locations = await overview.locations();
  expect(locations).toHaveLength(452);
  const ids = locations.map(({ locationId }) => locationId);
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(452);
  const oauth = { state: 'active', expiresAt: 1, lastError: null };
  expect(locations[0]).toMatchObject({ locationId: 'a-granted', state: 'unassigned', oauth });
  expect(locations.find(({ locationId }) => locationId === 'location-7')).toMatchObject({
    state: 'bound',
    oauth,
  });
  expect(await overview.location('z-granted')).toMatchObject({ licenseId: null, oauth });
});

it('reads pages that have each location once, those with only a grant last', async () => {
  const granted = ['a-granted', 'location-7', 'z-granted'];
  const { overview, reads } = start(450, { granted });
  const ids: string[] = [];
  for (let after: LocationPlace | undefined; ;) {
    const before = reads.count;
    const page = await overview.locationsPage({ limit: 150, after, only: undefined });
    // A page reads only the batches that it shows.
    expect(reads.count - before).toBeLessThanOrEqual(2);
    ids.push(...page.map(({ location }) => location.locationId));
    const last = page.at(-1);
    if (last === undefined) break;
    after = { list: last.list, id: last.location.locationId };
  }
  expect(ids).toHaveLength(452);
  expect(new Set(ids).size).toBe(452);
  expect(ids.slice(-2)).toEqual(['a-granted', 'z-granted']);
});

it('reads pages of the given locations, without the unknown ones', async () => {
  const { overview } = start(450, { granted: ['z-granted'] });
  const only = ['z-granted', 'location-9', 'location-449', 'location-450'];
  const read = async (limit: number, id: string) => {
    const page = await overview.locationsPage({ limit, after: { list: 'stored', id }, only });
    return page.map(({ location }) => location.locationId);
  };
  expect(await read(2, '')).toEqual(['location-449', 'location-9']);
  expect(await read(2, 'location-9')).toEqual(['z-granted']);
});
