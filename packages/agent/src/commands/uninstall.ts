import { existsSync } from 'node:fs';

import { createSystemClock } from '@footbridge/runtime/clock';
import { createLog } from '@footbridge/runtime/log';

import type { Settings } from '../config/config.ts';
import { readToken } from '../edges/enrolment/token-file.ts';
import { removeFiles, thisInstallation } from '../install/installation.ts';
import { BUNDLE_ID } from '../install/layout.ts';
import { runProgram } from '../install/run-program.ts';
import { openEnrolment } from '../open/enrolment.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';
import { stopAgent } from './restart-agent.ts';
import { createTerminal } from './terminal.ts';

/** Stops the agent, frees its seat and removes all its files, after a confirmation. */
export async function uninstall(
  { yes }: { yes: boolean },
  settings: Settings,
  output: Output,
): Promise<number> {
  const installation = thisInstallation(settings.programs);
  if (installation === undefined || !existsSync(installation.layout.support)) {
    output.problem('The agent is not installed here.');
    return EXIT.failed;
  }
  const { layout, launchAgent, programs } = installation;
  if (!yes && !(await confirmed(output))) return EXIT.failed;
  await launchAgent.uninstall();
  if (!(await stopAgent(layout.support, createSystemClock({ keepAlive: true })))) {
    output.problem('The agent does not stop, so nothing was removed. Restart the Mac and try again.');
    return EXIT.failed;
  }
  const seatFreed = await freeSeat(layout.support);
  await runProgram(programs.tccutil, ['reset', 'All', BUNDLE_ID]);
  await removeFiles(layout);
  const seat = seatFreed
    ? ''
    : ' The service could not be reached, so its operator has to free the seat: footbridge device list';
  output.result({ uninstalled: true, seatFreed }, `Footbridge is removed from this Mac.${seat}`);
  return EXIT.done;
}

async function confirmed(output: Output): Promise<boolean> {
  const answer = await createTerminal().ask(
    'Remove Footbridge from this Mac, with all messages that wait to be sent? [y/N]',
  );
  if (answer !== undefined && /^y(es)?$/i.test(answer)) return true;
  const hint = answer === undefined ? ': stdin is not a terminal; pass --yes to confirm' : '.';
  output.problem(`Nothing was changed${hint}`);
  return false;
}

async function freeSeat(dataDir: string): Promise<boolean> {
  const token = await readToken(dataDir);
  if (token === undefined) return true;
  const mac = { url: token.url, dataDir, license: undefined, deviceId: undefined };
  return await (await openEnrolment(mac, '', createLog('silent'))).deactivate();
}
