import { createBridge } from './bridge.ts';
import { loadConfig } from './config/config.ts';
import type { LoadedConfig } from './config/config.ts';
import { StartError } from './errors.ts';
import { createLogger } from './log.ts';

const STOP_TIMED_OUT = 75;
const BUG = 70;

function fail(error: unknown): never {
  if (error instanceof StartError) {
    for (const fault of error.faults) process.stderr.write(`footbridge: ${fault}\n`);
    process.exit(error.exitCode);
  }
  throw error;
}

function configure(): LoadedConfig {
  try {
    process.loadEnvFile();
  } catch {
    // A file named .env is a convenience; without one the environment alone counts.
  }
  try {
    return loadConfig(process.env);
  } catch (error) {
    return fail(error);
  }
}

const { config, warnings, summary } = configure();
const log = createLogger(config.logLevel);
log.info({ settings: summary }, 'starting');
for (const warning of warnings) log.warn({}, warning);

const bridge = await createBridge(config, { log }).catch(fail);
log.info({ url: bridge.url, operatorUrl: bridge.operatorUrl }, 'ready');
process.send?.('ready');

let stopping = false;
function stop(signal: string): void {
  if (stopping) {
    if (signal === 'SIGINT') process.exit(130);
    return;
  }
  stopping = true;
  log.info({ signal }, 'stopping');
  setTimeout(() => {
    log.error({ event: 'service.stop_timed_out', withinMs: bridge.closeWithinMs }, 'drain timed out');
    process.exit(STOP_TIMED_OUT);
  }, bridge.closeWithinMs).unref();
  void bridge.close().then(() => {
    log.info({}, 'stopped');
    process.exitCode = 0;
  });
}
process.on('SIGTERM', () => stop('SIGTERM'));
process.on('SIGINT', () => stop('SIGINT'));

// Nothing may get here. If something does, the state is unknown: say so and let the supervisor start anew; the Macs keep what was not acknowledged.
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => {
    log.error({ err: error, event }, 'bug: please report this line');
    setTimeout(() => process.exit(BUG), 100);
  });
