import { describe, expect, it } from 'vitest';

import { MessageBlocks, blockOf } from './journal-sql-writer.ts';

const DAY_MS = 86_400_000;
const TODAY = 20_000 * DAY_MS;

describe('MessageBlocks', () => {
  it('fills a block with about 1,024 messages before it begins the next', () => {
    const blocks = new MessageBlocks();
    const assigned = Array.from({ length: 100 }, (_, batch) => {
      const block = blocks.blockAt(TODAY + batch);
      blocks.written(100);
      return block;
    });
    expect(new Set(assigned).size).toBe(10);
    expect(assigned).toEqual(assigned.toSorted((left, right) => left - right));
  });

  it('messages that were not written do not count for a block', () => {
    const blocks = new MessageBlocks();
    for (let attempt = 0; attempt < 10_000; attempt++) blocks.blockAt(TODAY);
    expect(blocks.blockAt(TODAY)).toBe(new MessageBlocks().blockAt(TODAY));
  });

  it('begins at the first block of every day', () => {
    const blocks = new MessageBlocks();
    blocks.blockAt(TODAY);
    blocks.written(5000);
    expect(blocks.blockAt(TODAY + DAY_MS)).toBe(new MessageBlocks().blockAt(TODAY + DAY_MS));
    expect(blocks.blockAt(TODAY + DAY_MS)).toBeGreaterThan(blockOf(TODAY, Number.MAX_SAFE_INTEGER));
  });
});

describe('blockOf', () => {
  it('a block is a 32-bit number, which takes less space in an index', () => {
    expect(blockOf(Date.UTC(2100), Number.MAX_SAFE_INTEGER)).toBeLessThan(2 ** 31);
  });
});
