import { expect, it } from 'vitest';

import { RecentRejections } from './recent-rejections.ts';
import type { SignatureFault } from './verify-signature.ts';

const HOUR_MS = 3_600_000;
const fault = (step: SignatureFault['step'], locationId: string): SignatureFault => ({
  step,
  header: 'x-crm-signature',
  locationId,
});

it('rejections of the last hour are listed by step and header, the latest first', () => {
  let now = 0;
  const rejections = new RecentRejections(() => now);
  rejections.add(fault('base64', 'too old'));
  now = HOUR_MS - 2;
  rejections.add(fault('header', 'a'));
  now = HOUR_MS - 1;
  rejections.add(fault('base64', 'b'));
  now = HOUR_MS;
  rejections.add(fault('header', 'c'));
  expect(rejections.list()).toEqual([
    { ...fault('header', 'c'), count: 2, lastAt: HOUR_MS },
    { ...fault('base64', 'b'), count: 1, lastAt: HOUR_MS - 1 },
  ]);
  now = 3 * HOUR_MS;
  expect(rejections.list()).toEqual([]);
});

it('at most the latest thousand rejections are counted', () => {
  let now = 0;
  const rejections = new RecentRejections(() => now);
  for (; now < 1500; now++) rejections.add(fault('header', 'a'));
  expect(rejections.list()).toMatchObject([{ count: 1000, lastAt: 1499 }]);
  // The kept times are 500 to 1499.
  now = HOUR_MS + 499;
  expect(rejections.list()).toMatchObject([{ count: 1000 }]);
  now = HOUR_MS + 500;
  expect(rejections.list()).toMatchObject([{ count: 999 }]);
});
