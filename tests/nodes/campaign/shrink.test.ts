import { describe, expect, it } from 'vitest';

import { shrink } from './shrink.ts';

const numbers = Array.from({ length: 60 }, (_, index) => index);
/** Fails when all of these are there. */
const needs =
  (...wanted: readonly number[]) =>
  (candidate: readonly number[]) =>
    Promise.resolve(wanted.every((one) => candidate.includes(one)));

describe('the shrinker', () => {
  it.each([[[7]], [[0, 59]], [[3, 30, 31]], [[]]])(
    'finds exactly the items %j that make it fail',
    async (wanted) => {
      expect(await shrink(numbers, needs(...wanted), { budget: 1000 })).toEqual(wanted);
    },
  );

  it('keeps the order of the items', async () => {
    const inOrder = (candidate: readonly number[]) =>
      Promise.resolve(candidate.includes(40) && candidate.indexOf(10) < candidate.indexOf(40));
    const result = await shrink(
      numbers,
      (candidate) => inOrder(candidate).then((is) => is && candidate.includes(10)),
      {
        budget: 1000,
      },
    );
    expect(result).toEqual([10, 40]);
  });

  it('stops at its budget and returns a list that still fails', async () => {
    let trials = 0;
    const fails = needs(3, 30, 31);
    const result = await shrink(
      numbers,
      (candidate) => {
        trials++;
        return fails(candidate);
      },
      { budget: 6 },
    );
    expect(trials).toBe(6);
    expect(await fails(result ?? [])).toBe(true);
    expect(result?.length).toBeLessThan(numbers.length);
  });

  it('finds nothing in a list that does not fail', async () => {
    expect(await shrink(numbers, () => Promise.resolve(false), { budget: 10 })).toBeUndefined();
  });
});
