import { expect, it } from 'vitest';
import { until } from './until.ts';

it('returns the first truthy result', async () => {
  let polls = 0;
  expect(await until(() => (++polls === 3 ? { found: polls } : undefined), { every: 1 })).toEqual({
    found: 3,
  });
});

it('rejects after the timeout with the description of the condition', async () => {
  await expect(until(() => false, { within: 20, what: 'a second message' })).rejects.toThrow(
    'Not within 20 ms: a second message.',
  );
});
