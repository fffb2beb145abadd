import { describe, expect, it } from 'vitest';
import { parseRetryAfter } from './retry-after.ts';

const NOW = Date.UTC(1994, 10, 6, 8, 49, 30);

describe('parseRetryAfter', () => {
  it.each([
    ['seconds', '7', 7000],
    ['zero seconds', '0', 0],
    ['seconds surrounded by white space', ' 7 ', 7000],
    ['an IMF-fixdate', 'Sun, 06 Nov 1994 08:49:37 GMT', 7000],
    ['an RFC 850 date', 'Sunday, 06-Nov-94 08:49:37 GMT', 7000],
    ['a date in the past', 'Sun, 06 Nov 1994 08:49:00 GMT', 0],
  ])('returns milliseconds for %s', (_, header, delayMs) => {
    expect(parseRetryAfter(header, NOW)).toBe(delayMs);
  });

  it.each([
    undefined,
    null,
    '',
    ' ',
    'soon',
    '-1',
    '1.5',
    '1e3',
    '0x10',
    '9999999999',
    'Sun',
    'Sunny, with rain',
  ])('returns undefined for %j', (header) => {
    expect(parseRetryAfter(header, NOW)).toBeUndefined();
  });
});
