import { expect, test } from 'vitest';

import { isQuiet } from './quiet-hours.ts';

const at = (time: string) => Date.parse(`2026-11-15T${time}:00Z`);
const NIGHT = { from: 22 * 60, until: 7 * 60, timeZone: 'UTC' };

test.each([
  ['21:59', false],
  ['22:00', true],
  ['00:00', true],
  ['06:59', true],
  ['07:00', false],
])('a night that spans midnight: %s', (time, isExpected) => {
  expect(isQuiet(NIGHT, at(time))).toBe(isExpected);
});

test.each([
  ['11:59', false],
  ['12:00', true],
  ['13:30', false],
])('hours within a day: %s', (time, isExpected) => {
  expect(isQuiet({ from: 12 * 60, until: 13 * 60 + 30, timeZone: 'UTC' }, at(time))).toBe(isExpected);
});

test('the time zone counts, including daylight saving time', () => {
  const berlin = { ...NIGHT, timeZone: 'Europe/Berlin' };
  expect(isQuiet(berlin, at('21:00'))).toBe(true);
  expect(isQuiet(berlin, at('06:00'))).toBe(false);
  expect(isQuiet(berlin, Date.parse('2026-07-15T20:00:00Z'))).toBe(true);
});
