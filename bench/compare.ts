// Compares the cost per message of this checkout with that of another one, whose dependencies are installed, or with itself under other
// settings: node scripts/run.mjs bench/compare.ts [FOLDER] [--env NAME=VALUE …] [--rounds 12] [--messages 2000] [--macs 1000]
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { footbridge } from './candidates.ts';
import { withHarness } from './harness.ts';
import { ratios, spread } from './measure/statistics.ts';
import { measureCosts, warmUp } from './scenarios/costs.ts';
import { inbound, outbound } from './scenarios/work.ts';

const {
  values,
  positionals: [folder = '.'],
} = parseArgs({
  allowPositionals: true,
  options: {
    /** Set for the last candidate only. */
    env: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string', default: '12' },
    messages: { type: 'string', default: '2000' },
    macs: { type: 'string', default: '1000' },
  },
});
const rounds = { rounds: Number(values.rounds), messages: Number(values.messages) };
const checkout = pathToFileURL(`${resolve(folder)}/`);
const env = Object.fromEntries(values.env.map((one) => one.split(/=(.*)/s, 2) as [string, string]));
const candidates = [
  footbridge({ name: 'the other', checkout }),
  // Two runs of the same program also differ; this candidate shows by how much.
  footbridge({ name: 'the other again', checkout }),
  footbridge({ name: 'this', env }),
];

await withHarness({}, async (harness) => {
  const running = [];
  for (const candidate of candidates) running.push(await harness.start(candidate, Number(values.macs)));
  for (const [path, work] of Object.entries({ outbound, inbound })) {
    await warmUp(harness, running, work, 10 * rounds.messages);
    const costs = await measureCosts(harness, running, work, rounds);
    const baseline = costs['the other'] ?? [];
    for (const { name } of running) {
      const micros = spread(costs[name] ?? []).median.toFixed(0);
      const { median, q1, q3 } = spread(ratios(costs[name] ?? [], baseline));
      console.log(
        `${path.padEnd(9)} ${name.padEnd(16)} ${micros} µs, ${median.toFixed(3)} × (${q1.toFixed(3)}–${q3.toFixed(3)})`,
      );
    }
  }
});
