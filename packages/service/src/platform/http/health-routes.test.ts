import { expect, it } from 'vitest';

import { hasFailed, runChecks } from './health-routes.ts';

const ok = { name: 'store', check: async () => {} };
const failing = { name: 'redis', check: () => Promise.reject(new Error('unavailable')) };

it('H1 returns the result of every check by name', async () => {
  expect(await runChecks([ok, failing])).toEqual({ store: 'ok', redis: 'fail' });
  expect(await runChecks([])).toEqual({});
});

it('H1 reports a failure when any check fails', async () => {
  expect(hasFailed(await runChecks([ok]))).toBe(false);
  expect(hasFailed(await runChecks([ok, failing]))).toBe(true);
});
