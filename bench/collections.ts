// Shows how much of what a message allocates survives the collections of young objects, and how long they pause the service:
// node scripts/run.mjs bench/collections.ts [--checkout FOLDER] [--messages 20000] [--macs 1000]
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { footbridge } from './candidates/footbridge.ts';
import { openHarness } from './harness.ts';
import { findPinning } from './measure/pinning.ts';
import { tail } from './measure/statistics.ts';
import { warmUp } from './scenarios/costs.ts';
import { inbound, outbound } from './scenarios/work.ts';

const { values } = parseArgs({
  options: {
    checkout: { type: 'string', default: '.' },
    messages: { type: 'string', default: '20000' },
    macs: { type: 'string', default: '1000' },
  },
});
const messages = Number(values.messages);
const preload = new URL('measure/trace-collections.mjs', import.meta.url);
const service = footbridge({
  checkout: pathToFileURL(`${resolve(values.checkout)}/`),
  env: { NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import ${preload.href}` },
});

for (const [path, work] of Object.entries({ outbound, inbound })) {
  const harness = await openHarness({ pinning: findPinning() });
  try {
    let log = '';
    const candidate = {
      name: service.name,
      start(options: Parameters<typeof service.start>[0]) {
        log = join(options.folder, 'output.log');
        return service.start(options);
      },
    };
    const running = await harness.start(candidate, Number(values.macs));
    await warmUp(harness, [running], work, messages);
    const before = readFileSync(log, 'utf8').length;
    await warmUp(harness, [running], work, messages);
    print(path, readFileSync(log, 'utf8').slice(before));
  } finally {
    await harness.close();
  }
}

/** Reads lines such as `… Scavenge 94.1 (254.1) -> 75.5 (254.1) MB, pooled: 5.0 MB, 20.80 / 0.01 ms …`. */
function print(path: string, log: string): void {
  const found = log.matchAll(
    /(Scavenge|Mark-Compact).*? ([\d.]+) \([\d.]+\) -> ([\d.]+) \(.*?, ([\d.]+) \/ /g,
  );
  let [allocated, survived, last] = [0, 0, NaN];
  const pauses: number[] = [];
  for (const [, kind, before, after, pause] of found) {
    if (kind === 'Scavenge' && !Number.isNaN(last)) {
      allocated += Number(before) - last;
      survived += Number(after) - last;
      pauses.push(Number(pause));
    }
    last = Number(after);
  }
  const { p50, p99, max, samples } = tail(pauses);
  const perMessage = (allocated * 1024) / messages;
  console.log(
    `${path.padEnd(9)} ${perMessage.toFixed(0)} KB per message, of which ${((100 * survived) / allocated).toFixed(1)} % survive; ` +
      `${samples} collections of ${p50.toFixed(1)} ms (median), ${p99.toFixed(1)} ms (p99), ${max.toFixed(1)} ms (longest)`,
  );
}
