import { describe, expect, it } from 'vitest';

import { Batcher } from './batcher.ts';

describe('batcher', () => {
  it('M7 asks once for all that is wanted within one turn, and answers each', async () => {
    const asked: (readonly string[])[] = [];
    const batcher = new Batcher<string, number>(async (keys) => {
      asked.push(keys);
      return new Map(keys.filter((key) => key !== 'c').map((key) => [key, key.length]));
    });
    const answers = await Promise.all(['a', 'bb', 'c', 'a'].map((key) => batcher.ask(key)));
    expect(answers).toEqual([1, 2, undefined, 1]);
    expect(asked).toEqual([['a', 'bb', 'c']]);
    expect(await batcher.ask('a')).toBe(1);
    expect(asked).toHaveLength(2);
  });

  it('M7 a failure reaches everybody who waits, and the next batch starts anew', async () => {
    let down = true;
    const batcher = new Batcher<string, string>(async (keys) => {
      if (down) throw new Error('down');
      return new Map(keys.map((key) => [key, key]));
    });
    const both = await Promise.allSettled([batcher.ask('a'), batcher.ask('b')]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    down = false;
    expect(await batcher.ask('a')).toBe('a');
  });
});
