import { describe, expect, it } from 'vitest';

import { parseRetryAfter } from './retry-after.ts';

const NOW = Date.UTC(2026, 0, 1);

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['7', 7000],
    [' 120 ', 120_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Thursday, 01-Jan-26 00:00:30 GMT', 30_000],
    ['Thu Jan  1 00:00:30 2026 GMT', 30_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ])('%j asks for %i ms', (header, ms) => {
    expect(parseRetryAfter(header, NOW)).toBe(ms);
  });

  it.each([null, undefined, '', ' ', '-5', '1.5', '1e3', 'soon', 'Thu, nonsense', '9999999999999'])(
    '%j asks for nothing',
    (header) => {
      expect(parseRetryAfter(header, NOW)).toBeUndefined();
    },
  );
});
