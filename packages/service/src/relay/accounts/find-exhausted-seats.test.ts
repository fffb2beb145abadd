import { expect, it } from 'vitest';

import { exhaustedSeats } from './find-exhausted-seats.ts';

const AT = Date.parse('2026-11-15T09:12:00Z');

const license = (used: number) => ({
  id: 'l1',
  label: 'Agency',
  seats: { used, max: 2 },
  locationIds: ['loc1'],
});
const REFUSED = new Map([['l1', { count: 1, since: AT }]]);

it('a license that refused a Mac and has no free seat is an issue', () => {
  const [found] = exhaustedSeats([license(2)], REFUSED);
  expect(found).toMatchObject({
    kind: 'seats_exhausted',
    subject: 'l1',
    licenseId: 'l1',
    locationIds: ['loc1'],
  });
  expect(found?.sentence).toMatch(/all 2 seats of the license “Agency” are taken/);
  expect(found?.action).toMatch(/footbridge license seats/);
});

it('a refused Mac is not an issue once a seat is free, nor a full license that refused no Mac', () => {
  expect(exhaustedSeats([license(1)], REFUSED)).toEqual([]);
  expect(exhaustedSeats([license(2)], new Map())).toEqual([]);
});
