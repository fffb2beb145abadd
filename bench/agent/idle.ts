import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { startSimulatedMacos } from '@footbridge/testkit/macos';
import { openChatDb } from '@footbridge/simulator/chat-db';

import { MacAgent } from '../../tests/agent/mac-agent.ts';
import { ScriptedService } from '../../tests/agent/scripted-service.ts';
import { cpuMicros, residentBytes } from '../measure/process-costs.ts';
import { fillStore } from './fill-store.ts';

/** Measures the CPU time and the memory of an idle agent, with a message store as large as that of a busy Mac after a few years. */
const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } });
const MAX_SHARE = 0.005;
const MAX_MEGABYTES = 90;
/** The agent is not idle while it starts and reads the store for the first time. */
const SETTLE_MS = 10_000;

const service = await new ScriptedService().start();
const macos = await startSimulatedMacos();
const agent = new MacAgent({ url: service.url, macos, env: {} });
try {
  const db = openChatDb(macos.storePath, 26);
  fillStore(db);
  db.close();
  await agent.start();
  await sleep(SETTLE_MS);
  const before = cpuMicros(agent.pid);
  await sleep(Number(values.seconds) * 1000);
  const share = (cpuMicros(agent.pid) - before) / 1e6 / Number(values.seconds);
  const megabytes = residentBytes(agent.pid) / 1024 / 1024;
  process.stdout.write(
    `idle for ${values.seconds} s: ${(share * 100).toFixed(2)} % of a core, ${megabytes.toFixed(0)} MB\n`,
  );
  process.exitCode = share <= MAX_SHARE && megabytes <= MAX_MEGABYTES ? 0 : 1;
} finally {
  await agent.stop();
  await macos.stop();
  await service.stop();
}
