import { describe, expect, it } from 'vitest';

import { blockOf } from './sql-write-behind.ts';

const DAY_MS = 86_400_000;

describe('blockOf', () => {
  it('returns one block for a thousand messages of a day, and then the next', () => {
    const blocks = Array.from({ length: 10_000 }, (_, nth) => blockOf(20_000 * DAY_MS + nth, nth));
    expect(new Set(blocks).size).toBe(10);
    expect(blocks).toEqual(blocks.toSorted((left, right) => left - right));
  });

  it('begins new blocks every day', () => {
    expect(blockOf(20_000 * DAY_MS, 0)).not.toBe(blockOf(20_000 * DAY_MS - 1, 0));
  });

  it('continues the blocks of the day after a restart', () => {
    expect(blockOf(20_000 * DAY_MS + 5, 0)).toBe(blockOf(20_001 * DAY_MS - 5, 0));
  });

  it('is a 32-bit number, which takes less space in an index', () => {
    expect(blockOf(Date.UTC(2100), 5_000_000)).toBeLessThan(2 ** 31);
  });
});
