import { existsSync } from 'node:fs';

import { createSystemClock } from '@footbridge/runtime/clock';

import type { Settings } from '../config/config.ts';
import { AGENT_VERSION } from '../config/version.ts';
import { comeBack } from '../edges/stay-away.ts';
import { thisInstallation } from '../install/installation.ts';
import { packageRoot } from '../install/package-root.ts';
import { currentVersion, installVersion } from '../install/versions.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';
import { agentStarted, stopAgent } from './restart-agent.ts';

/** Installs this version beside the running one, and restarts the agent. The app stays, and with it the permissions. */
export async function update({ programs }: Settings, output: Output): Promise<number> {
  const installation = thisInstallation(programs);
  const root = packageRoot();
  if (installation === undefined || root === undefined || !existsSync(installation.layout.current)) {
    output.problem('The agent is not installed here. Next: footbridge-agent setup');
    return EXIT.failed;
  }
  const { layout, launchAgent } = installation;
  const before = await currentVersion(layout.current);
  const clock = createSystemClock({ keepAlive: true });
  await installVersion(layout, root, AGENT_VERSION);
  comeBack(layout.support);
  await stopAgent(layout.support, clock);
  await launchAgent.start();
  const start = await agentStarted(layout.support, clock);
  if (!start.started) {
    const { because = `Its log: ${layout.logFile}` } = start;
    output.problem(`Version ${AGENT_VERSION} is installed but does not start. ${because}`);
    return EXIT.failed;
  }
  output.result({ version: AGENT_VERSION, before }, `Version ${AGENT_VERSION} is running. It was ${before}.`);
  return EXIT.done;
}
