import { startAgent } from '../agent.ts';
import { summary } from '../config/config.ts';
import type { AgentConfig } from '../config/config.ts';
import { EXIT, exitCodeWhenAway } from './exit-codes.ts';
import { createFailpoints } from '../failpoint.ts';
import { createLog } from '../log.ts';
import { AGENT_VERSION } from '../config/version.ts';

const STOP_WITHIN_MS = 15_000;

/** Runs until it is told to stop, by a signal or by the service. */
export async function run(config: AgentConfig, failpoints: string | undefined): Promise<number> {
  const log = createLog(config.logLevel);
  log.info({ version: AGENT_VERSION, settings: summary(config) }, 'starting');
  const agent = await startAgent(config, { log, failpoint: createFailpoints(failpoints) });
  const signalled = firstSignal();
  const end = await Promise.race([agent.ended, signalled.received]);
  signalled.forget();
  if (typeof end === 'string') log.info({ signal: end }, 'stopping');
  // A job that hangs must not keep the process for ever; what it did is found out at the next start.
  const tooLate = setTimeout(() => process.exit(EXIT.failed), STOP_WITHIN_MS);
  await agent.stop();
  clearTimeout(tooLate);
  if (typeof end === 'object' && end.state === 'away') return exitCodeWhenAway(end.code);
  log.info({ signal: typeof end === 'string' ? end : undefined }, 'stopped');
  return EXIT.done;
}

/** The first one asks, a second one does not wait. */
function firstSignal(): { received: Promise<NodeJS.Signals>; forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let asked = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (asked) process.exit(EXIT.interrupted);
    asked = true;
    resolve(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return {
    received: promise,
    forget: () => {
      asked = true;
    },
  };
}
