import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { fuzz } from './run-fuzz.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('T54 malformed requests and frames cause no 5xx and no crash', async () => {
  const { serverErrors, isRunning, statuses } = await fuzz(cleanup, {
    inputs: 5000,
    seed: 7,
    maxSeconds: 60,
  });
  expect({ serverErrors, isRunning }).toEqual({ serverErrors: 0, isRunning: true });
  expect(Object.keys(statuses)).toEqual(expect.arrayContaining(['400', '401', '415']));
});
