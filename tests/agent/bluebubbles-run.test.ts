import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { runBlueBubbles } from './bluebubbles-run.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

// The full size: node scripts/run.mjs bench/agent.ts bluebubbles --jobs 1000 --faults 300 --kills 50 --seed 1
it('M4 sends each message once through BlueBubbles, with faults of the server and kills of the agent', async () => {
  const report = await runBlueBubbles(cleanup, { jobs: 40, faults: 16, kills: 2, seed: 7 });
  expect(report).toMatchObject({
    jobs: 40,
    faults: 16,
    kills: 2,
    doubledByUs: [],
    wrongChat: [],
    wrongCode: [],
    copiesNotReported: [],
  });
  expect(report.delivered).toBeGreaterThan(24);
});
