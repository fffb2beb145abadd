import { describe, expect, it } from 'vitest';

import { Batcher, MAX_BATCH, nextTurn } from './batcher.ts';

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

  it('collects keys for longer after a query with more keys', async () => {
    const loads: { readonly at: number; readonly keys: number }[] = [];
    const batcher = new Batcher<number, number>(async (keys) => {
      loads.push({ at: performance.now(), keys: keys.length });
      return new Map(keys.map((key) => [key, key]));
    }, 4000);
    const keys = Array.from({ length: 2000 }, (_, key) => key);
    await Promise.all(keys.map((key) => batcher.get(key)));
    const first = batcher.get(1);
    await nextTurn();
    await Promise.all([first, batcher.get(2)]);
    for (let times = 0; times < 5; times++) await batcher.get(1);
    const after = loads.filter((load) => load.keys < MAX_BATCH);
    expect(after.map((load) => load.keys)).toEqual([2, 1, 1, 1, 1, 1]);
    const gaps = after.map(({ at }, index) => at - (after[index - 1] ?? loads[0] ?? { at }).at);
    expect(gaps[0]).toBeGreaterThan(3900);
    expect(Math.min(...gaps.slice(1))).toBeLessThan(2000);
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
