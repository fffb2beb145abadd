// Compares sizes of V8's young generation: CPU per message, latency and memory, in alternating rounds.
// node scripts/run.mjs bench/experiments/young-generation.ts [--sizes 4,8] [--rounds 8] [--messages 1000] [--macs 300] [--outbound 300] [--inbound 300]
import process from 'node:process';
import { parseArgs } from 'node:util';

import { footbridge } from '../candidates/footbridge.ts';
import { openHarness } from '../harness.ts';
import type { RunningCandidate } from '../harness.ts';
import { findPinning } from '../measure/pinning.ts';
import { residentBytes } from '../measure/process-costs.ts';
import { printCosts } from '../scenarios/compare.ts';
import { measureLatencies } from '../scenarios/latencies.ts';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '4,8' },
    rounds: { type: 'string', default: '8' },
    messages: { type: 'string', default: '1000' },
    macs: { type: 'string', default: '300' },
    outbound: { type: 'string', default: '300' },
    inbound: { type: 'string', default: '300' },
  },
});
const macs = Number(values.macs);
const messages = Number(values.messages);
/** Node's default is measured twice: the difference between two starts of the same program is noise. */
const DEFAULTS = ['default', 'default again'];

const harness = await openHarness({ pinning: findPinning() });
try {
  const candidates: RunningCandidate[] = [];
  for (const name of DEFAULTS) candidates.push(await harness.start(footbridge({ name }), macs));
  for (const size of values.sizes.split(',')) {
    const env = { NODE_OPTIONS: `--max-semi-space-size=${size}` };
    candidates.push(await harness.start(footbridge({ name: `${size} MB`, env }), macs));
  }
  const memory = () =>
    candidates
      .map(({ name, pid }) => `${name} ${(residentBytes(pid) / 1024 / 1024).toFixed(0)} MB`)
      .join(', ');
  process.stdout.write(`after the start: ${memory()}\n`);
  await printCosts(harness, candidates, { rounds: Number(values.rounds), messages });
  process.stdout.write(`after these messages: ${memory()}\n`);
  const perSecond = { outbound: Number(values.outbound), inbound: Number(values.inbound) };
  const rates = { ...perSecond, seconds: 8, repeats: 5 };
  const latencies = await measureLatencies(harness, candidates, () => rates);
  for (const [name, moments] of Object.entries(latencies))
    for (const [moment, { p50, p99, max }] of Object.entries(moments))
      process.stdout.write(
        `${moment.padEnd(10)} ${name.padEnd(12)} p50 ${p50.toFixed(1)}  p99 ${p99.toFixed(1)}  max ${max.toFixed(1)} ms\n`,
      );
} finally {
  await harness.close();
}
