import { parseArgs } from 'node:util';

import { createCleanup } from '@footbridge/testkit/cleanup';

import { runBlueBubbles } from '../../tests/agent/bluebubbles-run.ts';

/** Sends jobs through the agent and a simulated BlueBubbles server, with faults and kills. Exits with 1 when a target is missed. */
const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '1000' },
    faults: { type: 'string', default: '300' },
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
  },
});
const MAX_TEXT_MS = 300;
const [jobs, faults, kills, seed] = [values.jobs, values.faults, values.kills, values.seed].map(Number) as [
  number,
  number,
  number,
  number,
];
const cleanup = createCleanup();
try {
  const started = performance.now();
  const report = await runBlueBubbles(cleanup, { jobs, faults, kills, seed }, (done) => {
    if (done % 100 === 0) process.stderr.write(`${done} of ${jobs} jobs\n`);
  });
  const seconds = Math.round((performance.now() - started) / 1000);
  process.stdout.write(`${JSON.stringify({ seed, seconds, ...report }, null, 2)}\n`);
  const { doubledByUs, wrongChat, wrongCode, copiesNotReported, textMs } = report;
  const faultless = [doubledByUs, wrongChat, wrongCode, copiesNotReported].every((list) => list.length === 0);
  process.exitCode = faultless && textMs.p95 <= MAX_TEXT_MS ? 0 : 1;
} finally {
  await cleanup.run();
}
