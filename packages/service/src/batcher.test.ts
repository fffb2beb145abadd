import { describe, expect, it } from 'vitest';

import { Batcher } from './batcher.ts';

describe('Batcher', () => {
  it('M7 loads all keys of one turn in one query, and resolves each lookup', async () => {
    const loaded: (readonly string[])[] = [];
    const batcher = new Batcher<string, number>(async (keys) => {
      loaded.push(keys);
      return new Map(keys.filter((key) => key !== 'c').map((key) => [key, key.length]));
    });
    const values = await Promise.all(['a', 'bb', 'c', 'a'].map((key) => batcher.get(key)));
    expect(values).toEqual([1, 2, undefined, 1]);
    expect(loaded).toEqual([['a', 'bb', 'c']]);
    expect(await batcher.get('a')).toBe(1);
    expect(loaded).toHaveLength(2);
  });

  it('M7 rejects all pending lookups when a query fails, and the next batch succeeds', async () => {
    let down = true;
    const batcher = new Batcher<string, string>(async (keys) => {
      if (down) throw new Error('down');
      return new Map(keys.map((key) => [key, key]));
    });
    const both = await Promise.allSettled([batcher.get('a'), batcher.get('b')]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    down = false;
    expect(await batcher.get('a')).toBe('a');
  });
});
