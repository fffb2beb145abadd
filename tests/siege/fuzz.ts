// Sends malformed inputs from a seed to a started service: node scripts/run.mjs tests/siege/fuzz.ts --inputs 1000000 [--seed 1] [--seconds 3600]
import { parseArgs } from 'node:util';

import { createCleanup } from '@footbridge/testkit/cleanup';

import { fuzz } from './run-fuzz.ts';

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '3600' },
  },
});
const cleanup = createCleanup();
const report = await fuzz(cleanup, {
  inputs: Number(values.inputs),
  seed: Number(values.seed),
  maxSeconds: Number(values.seconds),
});
await cleanup.run();
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
process.exitCode = report.serverErrors === 0 && report.isRunning ? 0 : 1;
