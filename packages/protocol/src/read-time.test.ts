import { expect, it } from 'vitest';

import { readTime } from './read-time.ts';

const AT = Date.UTC(2026, 10, 16, 9, 30);

it.each([
  ['2026-11-16T09:30:00Z', AT],
  ['2026-11-16T09:30:00.000Z', AT],
  ['2026-11-16T10:30+01:00', AT],
  [AT, AT],
  ['2026-11-16T09:30:00', undefined],
  ['2026-11-16', undefined],
  ['2026-99-16T09:30:00Z', undefined],
  [AT / 1000, undefined],
  [String(AT), undefined],
  [null, undefined],
])('reads %j as %j', (value, expected) => {
  expect(readTime(value)).toBe(expected);
});
