import { parseArgs } from 'node:util';

import { createBlockingFailpoints } from '@footbridge/runtime/failpoints';
import { createLog } from '@footbridge/runtime/log';

import { startAgent } from '../src/agent.ts';
import type { AgentDeps, Mac } from '../src/agent.ts';
import { readConfig } from '../src/config/config.ts';

/**
 * The agent as a program on a simulated Mac: `--mac` has its home and the paths of its programs, `--limits` those of BlueBubbles.
 * The settings come from the environment, as for `footbridge-agent run`.
 */
const { values } = parseArgs({
  options: { mac: { type: 'string', default: '{}' }, limits: { type: 'string', default: '{}' } },
});
const read = readConfig({}, process.env);
if (!read.ok) throw new Error(read.problems.join('; '));
const agent = await startAgent(read.value, {
  log: createLog(read.value.logLevel, { sync: true }),
  failpoint: createBlockingFailpoints(process.env['FAILPOINTS']),
  mac: JSON.parse(values.mac) as Mac,
  bluebubbles: JSON.parse(values.limits) as NonNullable<AgentDeps['bluebubbles']>,
});
process.once('SIGTERM', () => void agent.stop());
