// Attacks a started service at a bounded rate while an honest tenant sends webhooks: npm run siege [-- --seconds 5] [-- --only TEXT]
import { parseArgs } from 'node:util';

import { createCleanup } from '@footbridge/testkit/cleanup';

import { ATTACKS } from './attacks.ts';
import { startStage } from './stage.ts';

const MAX_P99_MS = 100;
const MIB = 1_048_576;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '5' }, only: { type: 'string', default: '' } },
});
const print = (line: string) => void process.stdout.write(`${line}\n`);

const all = createCleanup();
const stage = await startStage(all);
await stage.honest(2);
let failures = 0;
print('| attack | honest webhooks accepted | p99 | memory of the service | result |');
print('|---|---|---|---|---|');
for (const [name, attack] of Object.entries(ATTACKS)) {
  if (!name.includes(values.only)) continue;
  const cleanup = createCleanup();
  await attack(stage, cleanup);
  const { sent, accepted, p99Ms } = await stage.honest(Number(values.seconds));
  const memory = await stage.metric('process_resident_memory_bytes');
  await cleanup.run();
  const held = accepted === sent && p99Ms < MAX_P99_MS;
  if (!held) failures++;
  print(
    `| ${name} | ${accepted} of ${sent} | ${p99Ms.toFixed(0)} ms | ${(memory / MIB).toFixed(0)} MiB | ${held ? 'held' : 'NOT HELD'} |`,
  );
}
await all.run();
process.exitCode = failures === 0 ? 0 : 1;
