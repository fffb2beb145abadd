import { expect, it } from 'vitest';
import { until } from './until.ts';

it('returns what it saw as soon as it is there', async () => {
  let looks = 0;
  expect(await until(() => (++looks === 3 ? { found: looks } : undefined), { every: 1 })).toEqual({
    found: 3,
  });
});

it('gives up with the name of what was missing', async () => {
  await expect(until(() => false, { within: 20, what: 'a second message' })).rejects.toThrow(
    'Not within 20 ms: a second message.',
  );
});
