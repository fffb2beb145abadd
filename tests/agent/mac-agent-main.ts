import { subscribe } from 'node:diagnostics_channel';
import type { ChildProcess } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { createBlockingFailpoints } from '@footbridge/runtime/failpoints';
import { createLog } from '@footbridge/runtime/log';
import { createFasterClock } from '@footbridge/testkit/faster-clock';

import { startAgent } from '@footbridge/agent/agent';
import type { AgentDeps } from '@footbridge/agent/agent';
import { readConfig } from '@footbridge/agent/config/config';
import type { Mac } from '@footbridge/agent/open/messages';
import { CHILD_PROCESSES } from './mac-agent.ts';

/**
 * The agent as a program on a simulated Mac: `--mac` has its home and the paths of its programs, `--limits` those of BlueBubbles.
 * With `--speed 10` all pauses and deadlines are ten times shorter. The settings come from the environment, as for
 * `footbridge-agent run`. SIGUSR2 moves the wall clock an hour ahead, as a sleep does. The arguments of every child process are
 * recorded in the data folder.
 */
const SLEEP_MS = 3600_000;
const { values } = parseArgs({
  options: {
    mac: { type: 'string', default: '{}' },
    limits: { type: 'string', default: '{}' },
    speed: { type: 'string', default: '1' },
  },
});
const read = readConfig({}, process.env);
if (!read.ok) throw new Error(read.problems.join('; '));
const recordedIn = join(read.value.dataDir, CHILD_PROCESSES);
subscribe('child_process', (message) => {
  const child = (message as { readonly process: ChildProcess }).process;
  // Node announces a child process before it has its arguments.
  queueMicrotask(() => appendFileSync(recordedIn, `${JSON.stringify(child.spawnargs)}\n`));
});
const clock = createFasterClock(Number(values.speed), { keepAlive: true });
let sleptMs = 0;
process.on('SIGUSR2', () => {
  sleptMs += SLEEP_MS;
});
const starting = startAgent(read.value, {
  log: createLog(read.value.logLevel, { sync: true }),
  clock: { ...clock, now: () => clock.now() + sleptMs },
  failpoint: createBlockingFailpoints(process.env['FAILPOINTS']),
  mac: JSON.parse(values.mac) as Mac,
  bluebubbles: JSON.parse(values.limits) as NonNullable<AgentDeps['bluebubbles']>,
});
// Installed before the agent reports that it is registered.
process.once('SIGTERM', () => void starting.then((agent) => agent.stop()));
await starting;
