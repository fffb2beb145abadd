// Attacks a started service at a bounded rate while an honest tenant sends webhooks: npm run siege [-- --seconds 5] [-- --only TEXT]
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';

import { createCleanup } from '@footbridge/testkit/cleanup';

import { ATTACKS } from './attacks.ts';
import type { Attack } from './attacks.ts';
import { EVENT_DEFECTS } from './defects-events.ts';
import { FILE_DEFECTS } from './defects-files.ts';
import { LICENSE_DEFECTS } from './defects-licenses.ts';
import { OPERATOR_DEFECTS } from './defects-operator.ts';
import { PROCESS_DEFECTS } from './defects-process.ts';
import { REDIS_DEFECTS } from './defects-redis.ts';
import { TIME_DEFECTS } from './defects-times.ts';
import { DEFECTS } from './defects.ts';
import { FLOODS } from './floods.ts';
import { startStage } from './stage.ts';

const MAX_P99_MS = 100;
/** What one device, or clients without a token, may add to the memory of the service. */
const MAX_GROWTH = 64 * 1_048_576;
const MIB = 1_048_576;

const ROWS: Readonly<Record<string, Attack>> = {
  ...ATTACKS,
  ...DEFECTS,
  ...EVENT_DEFECTS,
  ...FILE_DEFECTS,
  ...LICENSE_DEFECTS,
  ...OPERATOR_DEFECTS,
  ...PROCESS_DEFECTS,
  ...REDIS_DEFECTS,
  ...TIME_DEFECTS,
  ...FLOODS,
};

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '5' }, only: { type: 'string', default: '' } },
});
const print = (line: string) => void process.stdout.write(`${line}\n`);

const all = createCleanup();
const stage = await startStage(all);

/** What is left of an attack must not count for the next one: its requests may still be on their way. */
async function settled(): Promise<void> {
  for (let tries = 0; tries < 10; tries++) if ((await stage.honest(1)).p99Ms < MAX_P99_MS) return;
}

async function row(name: string, attack: Attack): Promise<boolean> {
  const cleanup = createCleanup();
  const before = await stage.memory();
  const { on = stage, idle = before, verify, figures } = (await attack(stage, cleanup)) ?? {};
  const { sent, accepted, p99Ms } = await on.honest(Number(values.seconds));
  const growth = (await on.memory()) - idle;
  const faults = [
    accepted < sent && `${sent - accepted} webhooks not accepted`,
    p99Ms >= MAX_P99_MS && 'slow',
    growth > MAX_GROWTH && 'memory',
    await verify?.(),
  ].filter((fault) => typeof fault === 'string');
  await cleanup.run();
  await settled();
  const held = faults.length === 0 ? 'held' : `NOT HELD: ${faults.join(', ')}`;
  const result = [held, ...(figures === undefined ? [] : [figures()])].join(': ');
  const cells = [
    name,
    `${accepted} of ${sent}`,
    `${p99Ms.toFixed(0)} ms`,
    `${(growth / MIB).toFixed(0)} MiB`,
    loadavg()[0]?.toFixed(1) ?? '',
    result,
  ];
  print(`| ${cells.join(' | ')} |`);
  return faults.length === 0;
}

await stage.honest(2);
print('| attack | honest webhooks accepted | p99 | memory added | load of the machine | result |');
print('|---|---|---|---|---|---|');
let failures = 0;
for (const [name, attack] of Object.entries(ROWS))
  if (name.includes(values.only) && !(await row(name, attack))) failures++;
await all.run();
process.exitCode = failures === 0 ? 0 : 1;
