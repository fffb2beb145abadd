import { parseArgs } from 'node:util';

import { decodeBody } from '@footbridge/agent/ports/messages/message-body';
import { mutatedBodies } from '@footbridge/agent/ports/messages/mutated-bodies.fixture';
import { readSummaryInfo } from '@footbridge/agent/ports/messages/summary-info';

/** Decodes mutated bodies and reports the slowest one and what was printed: --count 200000 --seed 1. */
const { values } = parseArgs({
  options: { count: { type: 'string', default: '200000' }, seed: { type: 'string', default: '1' } },
});
const [count, seed] = [Number(values.count), Number(values.seed)];
const MAX_MS = 500;
/** A slow decode is repeated: a busy machine stalls once, a slow body is slow each time. */
const REPEAT_ABOVE_MS = 50;

let printed = 0;
const countBytes = (chunk: string | Uint8Array): boolean => {
  printed += chunk.length;
  return true;
};
const print = process.stdout.write.bind(process.stdout);
process.stdout.write = countBytes;
process.stderr.write = countBytes;

const results = { read: 0, recovered: 0, unreadable: 0 };
let slowest = 0;
let stalls = 0;
const bodies = mutatedBodies(seed);
for (let round = 0; round < count; round += 1) {
  const body = bodies.next().value;
  let ms = timeOf(body);
  if (ms > REPEAT_ABOVE_MS) {
    const again = Math.min(timeOf(body), timeOf(body));
    if (again < REPEAT_ABOVE_MS) stalls += 1;
    ms = Math.min(ms, again);
  }
  slowest = Math.max(slowest, ms);
  const decoded = decodeBody(body);
  results[decoded === undefined ? 'unreadable' : decoded.recovered ? 'recovered' : 'read'] += 1;
  if (round % 10 === 0) readSummaryInfo(body);
}
print(
  `${count} bodies, seed ${seed}: ${JSON.stringify(results)}, slowest ${slowest.toFixed(1)} ms (${stalls} stalls of the machine left out), ${printed} bytes printed\n`,
);
process.exitCode = slowest > MAX_MS || printed > 0 ? 1 : 0;

function timeOf(body: Buffer): number {
  const started = performance.now();
  decodeBody(body);
  return performance.now() - started;
}
