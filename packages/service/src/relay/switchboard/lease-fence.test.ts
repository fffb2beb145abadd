import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { expect, it } from 'vitest';

import { LeaseAges, LeaseFence } from './lease-fence.ts';
import type { Lease } from './switchboard.ts';

const lease = (epoch: number): Lease => ({
  locationId: asLocationId('loc1') as LocationId,
  deviceId: 'd',
  sessionId: `s${epoch}`,
  epoch,
});

it('a fence follows the newest lease of the Mac, never an older one', () => {
  const fence = new LeaseFence(lease(2), { isCurrent: ({ epoch }) => epoch === 3 });
  fence.takeOver(lease(1));
  expect([fence.lease.epoch, fence.isCurrent()]).toEqual([2, false]);
  fence.takeOver(lease(3));
  expect([fence.lease.epoch, fence.isCurrent()]).toEqual([3, true]);
});

it('a single node has no lease store to ask', async () => {
  expect(await new LeaseFence(lease(1), { isCurrent: () => true }).confirm()).toBe(true);
});

it('A11 a Mac that reconnects while its old lease is being confirmed keeps the right to act', async () => {
  const asked = Promise.withResolvers<boolean>();
  const confirm = ({ epoch }: Lease) => (epoch === 1 ? asked.promise : Promise.resolve(true));
  const fence = new LeaseFence(lease(1), { isCurrent: () => true, confirm });
  const confirmed = fence.confirm();
  fence.takeOver(lease(2));
  asked.resolve(false);
  expect(await confirmed).toBe(true);
  expect(await new LeaseFence(lease(1), { isCurrent: () => true, confirm }).confirm()).toBe(false);
});

it('the age of a lease counts from its first use', () => {
  let now = 100;
  const ages = new LeaseAges({ monotonic: () => now });
  const first = lease(1);
  expect(ages.ageMs(first)).toBe(0);
  ages.used(first);
  now = 150;
  ages.used(first);
  expect([ages.ageMs(first), ages.ageMs(lease(2))]).toEqual([50, 0]);
});
