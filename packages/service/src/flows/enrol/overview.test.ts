import { FakeClock } from '@footbridge/testkit/fake-clock';
import { expect, it } from 'vitest';

import { Overview } from './overview.ts';

function start(count: number) {
  const clock = new FakeClock();
  const reads = { count: 0 };
  const overview = new Overview({
    licenses: {
      listLicenses: async () => [],
      listDevices: async () => [],
      listDeviceNames: async () => [],
      async listLocations() {
        reads.count++;
        return Array.from({ length: count }, (_, index) => ({
          locationId: `location-${index}`,
          state: 'unassigned' as const,
          licenseId: null,
          deviceRow: null,
          createdAt: 0,
          updatedAt: 0,
        }));
      },
    },
    switchboard: { boundMacs: async () => [] },
    grantStates: async () => new Map(),
    clock,
    takeOvers: () => ({ count: 0, isAlternating: false }),
  });
  return { overview, clock, reads };
}

it('reads many locations at most once a second for the lists that pages request often', async () => {
  const { overview, clock, reads } = start(200);
  expect(await overview.recentLocations()).toHaveLength(200);
  expect(await overview.recentLocations()).toHaveLength(200);
  expect(reads.count).toBe(1);
  await clock.advance(1000);
  await overview.recentLocations();
  expect(reads.count).toBe(2);
  await overview.locations();
  expect(reads.count).toBe(3);
});

it('reads a few locations every time', async () => {
  const { overview, reads } = start(199);
  await overview.recentLocations();
  await overview.recentLocations();
  expect(reads.count).toBe(2);
});
