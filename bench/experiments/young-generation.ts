// Compares sizes of V8's young generation: CPU per message, latency and memory, in alternating rounds.
// node scripts/run.mjs bench/experiments/young-generation.ts [--sizes 4,8] [--rounds 8] [--messages 1000] [--macs 300]
import process from 'node:process';
import { parseArgs } from 'node:util';

import { footbridge } from '../candidates/footbridge.ts';
import { openHarness } from '../harness.ts';
import type { RunningCandidate } from '../harness.ts';
import { findPinning } from '../measure/pinning.ts';
import { residentBytes } from '../measure/process-costs.ts';
import { ratios, spread } from '../measure/statistics.ts';
import { measureCosts, warmUp } from '../scenarios/costs.ts';
import { measureLatencies } from '../scenarios/latencies.ts';
import { inbound, outbound } from '../scenarios/work.ts';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '4,8' },
    rounds: { type: 'string', default: '8' },
    messages: { type: 'string', default: '1000' },
    macs: { type: 'string', default: '300' },
  },
});
const macs = Number(values.macs);
const messages = Number(values.messages);
/** Node's default is measured twice: the difference between two starts of the same program is noise. */
const SIZES = ['16', '16', ...values.sizes.split(',')];
const RATE = 300;

const harness = await openHarness({ pinning: findPinning() });
try {
  const candidates: RunningCandidate[] = [];
  for (const [index, size] of SIZES.entries()) {
    const env = { NODE_OPTIONS: `--max-semi-space-size=${size}` };
    const name = index === 1 ? `${size} MB again` : `${size} MB`;
    candidates.push(await harness.start(footbridge({ name, env }), macs));
  }
  const memory = () =>
    candidates
      .map(({ name, pid }) => `${name} ${(residentBytes(pid) / 1024 / 1024).toFixed(0)} MB`)
      .join(', ');
  process.stdout.write(`after the start: ${memory()}\n`);
  for (const [path, work] of Object.entries({ outbound, inbound })) {
    await warmUp(harness, candidates, work, 5 * messages);
    const costs = await measureCosts(harness, candidates, work, { rounds: Number(values.rounds), messages });
    const baseline = Object.values(costs)[0] ?? [];
    for (const [name, own] of Object.entries(costs)) {
      const { median, q1, q3 } = spread(ratios(own, baseline));
      process.stdout.write(
        `${path}: ${name.padEnd(12)} ${spread(own).median.toFixed(0)} µs  ${median.toFixed(3)} × (${q1.toFixed(3)}–${q3.toFixed(3)})\n`,
      );
    }
  }
  process.stdout.write(`after these messages: ${memory()}\n`);
  const rates = { outbound: RATE, inbound: RATE, seconds: 8, repeats: 5 };
  const latencies = await measureLatencies(harness, candidates, () => rates);
  for (const [name, moments] of Object.entries(latencies))
    for (const [moment, { p50, p99, max }] of Object.entries(moments))
      process.stdout.write(
        `${moment.padEnd(10)} ${name.padEnd(12)} p50 ${p50.toFixed(1)}  p99 ${p99.toFixed(1)}  max ${max.toFixed(1)} ms\n`,
      );
} finally {
  await harness.close();
}
