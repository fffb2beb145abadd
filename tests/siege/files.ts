// Uploads files that take long or much of a reader to a service with a heap of 256 MB: node scripts/run.mjs tests/siege/files.ts [--seconds 5] [--only TEXT]
import { parseArgs } from 'node:util';

import { createCleanup } from '@footbridge/testkit/cleanup';

import { runFiles } from './run-files.ts';

const MAX_P99_MS = 100;
const MAX_ADDED = 64 * 2 ** 20;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '5' }, only: { type: 'string', default: '' } },
});
const print = (line: string) => void process.stdout.write(`${line}\n`);

const cleanup = createCleanup();
print(
  '| files | responses | time | honest webhooks accepted | p99 | memory added | load of the machine | result |',
);
print('|---|---|---|---|---|---|---|---|');
let failures = 0;
for await (const report of runFiles(cleanup, { seconds: Number(values.seconds), only: values.only })) {
  const { name, statuses, seconds, accepted, sent, p99Ms, addedBytes, load, isRunning } = report;
  const faults = [
    !isRunning && 'the service ended',
    accepted < sent && `${sent - accepted} webhooks not accepted`,
    p99Ms >= MAX_P99_MS && 'slow',
    addedBytes > MAX_ADDED && 'memory',
  ].filter((fault) => typeof fault === 'string');
  if (faults.length > 0) failures++;
  const cells = [
    name,
    Object.entries(statuses)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', '),
    `${seconds.toFixed(0)} s`,
    `${accepted} of ${sent}`,
    `${p99Ms.toFixed(0)} ms`,
    `${(addedBytes / 2 ** 20).toFixed(0)} MiB`,
    load.toFixed(1),
    faults.length === 0 ? 'held' : `NOT HELD: ${faults.join(', ')}`,
  ];
  print(`| ${cells.join(' | ')} |`);
  if (!isRunning) break;
}
await cleanup.run();
process.exitCode = failures === 0 ? 0 : 1;
