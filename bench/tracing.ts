// Measures the CPU cost of tracing in alternating rounds: the service without tracing, a second instance of it as a control, and one that
// traces 10 % of the messages.
// `node scripts/run.mjs bench/tracing.ts [--rounds 6] [--messages 1500]`. Exit code 1 when tracing costs more than 5 %.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { parseArgs } from 'node:util';

import { openHarness } from './harness.ts';
import { footbridge } from './candidates/footbridge.ts';
import { findPinning } from './measure/pinning.ts';
import { ratios, spread } from './measure/statistics.ts';
import { measureCosts, warmUp } from './scenarios/costs.ts';
import { inbound, outbound } from './scenarios/work.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '6' },
    messages: { type: 'string', default: '1500' },
  },
});
const MACS = 100;
const MAX_RATIO = 1.05;
/** Enough for V8 to optimise the export code, which only a tenth of the messages reaches. */
const WARM_UPS = 8;
/** Spans are exported every 5 seconds; a round includes the cost of its export. */
const EXPORT_MS = 5500;

const collected = { requests: 0, bytes: 0 };
const collector = createServer((request, response) => {
  collected.requests++;
  request.on('data', (chunk: Buffer) => (collected.bytes += chunk.length));
  request.on('end', () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'));
});
await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
const { port } = collector.address() as AddressInfo;

const pinning = findPinning();
if (pinning.note !== undefined) console.log(`note: ${pinning.note}`);
const harness = await openHarness({ pinning });
try {
  const candidates = [
    await harness.start(footbridge({ name: 'without' }), MACS),
    await harness.start(footbridge({ name: 'without, again' }), MACS),
    await harness.start(
      footbridge({
        name: 'tracing 10 %',
        env: {
          OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${port}/v1/traces`,
          OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
          OTEL_TRACES_SAMPLER_ARG: '0.1',
        },
      }),
      MACS,
    ),
  ];
  for (const [path, work] of Object.entries({ outbound, inbound })) {
    for (let times = 0; times < WARM_UPS; times++) await warmUp(harness, candidates, work, 2000);
    const rounds = { rounds: Number(values.rounds), messages: Number(values.messages) };
    const costs = await measureCosts(harness, candidates, { ...work, settleMs: EXPORT_MS }, rounds);
    const baseline = costs['without'] ?? [];
    for (const { name } of candidates) {
      const own = costs[name] ?? [];
      const { median, q1, q3 } = spread(ratios(own, baseline));
      const micros = spread(own).median.toFixed(0);
      console.log(
        `${path}: ${name.padEnd(14)} ${micros.padStart(5)} µs  ${median.toFixed(3)} × (${q1.toFixed(3)}–${q3.toFixed(3)})`,
      );
      if (name.startsWith('tracing') && median > MAX_RATIO) process.exitCode = 1;
    }
  }
  console.log(`the collector received ${collected.requests} requests, ${collected.bytes} bytes`);
} finally {
  await harness.close();
  collector.closeAllConnections();
  collector.close();
}
