import { expect, it } from 'vitest';
import { CLOSE, CLOSE_CODES, closeCodeEntry, staysAway } from './close-codes.ts';

it('a Mac does not reconnect after being displaced, suspended or denied its location, and reconnects after any other code', () => {
  const away = Object.entries(CLOSE).filter(([, code]) => staysAway(code));
  expect(away.map(([name]) => name)).toEqual(['displaced', 'suspended', 'foreignLocation']);
  expect([1000, 1006, 1011, 3000, 4499, 5000].filter(staysAway)).toEqual([]);
  expect([4500, 4999].filter(staysAway)).toEqual([4500, 4999]);
});

it('every close code has a meaning and advice', () => {
  expect(Object.values(CLOSE).filter((code) => closeCodeEntry(code)?.code !== code)).toEqual([]);
  expect(new Set(CLOSE_CODES.map(({ code }) => code)).size).toBe(CLOSE_CODES.length);
  expect([999, 3999, 5000].map(closeCodeEntry)).toEqual([undefined, undefined, undefined]);
});
