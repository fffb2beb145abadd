import { execFile } from 'node:child_process';
import { Session } from 'node:inspector/promises';
import { createRequire } from 'node:module';
import { isatty } from 'node:tty';
import { promisify } from 'node:util';

import { ignoreDebuggerSignal } from '@footbridge/runtime/debugger-signal.js';
import { createLog } from '@footbridge/runtime/log';
import { onStopSignal } from '@footbridge/runtime/stop-signals';
import { keepNextTickFast, tuneCollections } from '@footbridge/runtime/tune-v8';

import { createBridge } from './compose.ts';
import { loadConfig } from './config.ts';
import type { LoadedConfig } from './config.ts';
import { textInsteadOfStart } from './platform/settings/command-line.ts';
import { StartError } from './platform/errors.ts';

const run = promisify(execFile);

const STOP_TIMED_OUT = 75;
const BUG = 70;
const INTERRUPTED = 130;
const STDIN = 0;

function fail(error: unknown): never {
  if (error instanceof StartError) {
    for (const problem of error.problems) process.stderr.write(`footbridge: ${problem}\n`);
    process.exit(error.exitCode);
  }
  throw error;
}

function readArguments(): void {
  const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
  try {
    const text = textInsteadOfStart(process.argv.slice(2), version);
    if (text === undefined) return;
    process.stdout.write(text);
    process.exit(0);
  } catch (error) {
    fail(error);
  }
}

function configure(): LoadedConfig {
  try {
    process.loadEnvFile();
  } catch {
    // The file .env is optional.
  }
  try {
    return loadConfig(process.env);
  } catch (error) {
    return fail(error);
  }
}

keepNextTickFast();
ignoreDebuggerSignal();
readArguments();
const { config, warnings, summary } = configure();
const log = createLog(config.logLevel);
log.info({ event: 'service.starting', settings: summary }, 'starting');
for (const warning of warnings) log.warn({ event: 'service.setting_warning' }, warning);

const bridge = await createBridge(config, { log, warnings }).catch(fail);
/** For units with `Type=notify`. Node has no Unix datagram sockets, so `systemd-notify` sends the state. */
async function notifySystemd(state: string): Promise<void> {
  if (process.env['NOTIFY_SOCKET'] === undefined) return;
  await run('systemd-notify', [state]).catch((error: unknown) =>
    log.warn({ event: 'service.notify_failed', state, err: error }, 'systemd not notified'),
  );
}

/** Reloads the keys of the settings: the files may have changed. */
async function reload(): Promise<void> {
  try {
    await bridge.replaceKeys(loadConfig(process.env).config);
    log.info({ event: 'service.reloaded' }, 'keys of the settings reloaded');
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    log.error(
      { event: 'service.reload_failed', problems: error.problems },
      'settings invalid, the former keys stay in use',
    );
  }
}

/** Frees the garbage left by startup, a fifth of the memory. V8 does not collect it while the process is idle. */
async function collectGarbage(): Promise<void> {
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.collectGarbage');
  session.disconnect();
}

function stop(signal: string): void {
  log.info({ event: 'service.stopping', signal }, 'stopping');
  setTimeout(() => {
    const { stopping: part = 'none', closeWithinMs: withinMs } = bridge;
    log.error({ event: 'service.stop_timed_out', withinMs, part }, 'drain timed out');
    process.exit(STOP_TIMED_OUT);
  }, bridge.closeWithinMs).unref();
  const toldStopping = toldReady.then(() => notifySystemd('STOPPING=1'));
  void Promise.all([bridge.close(), toldStopping]).then(() => {
    log.info({ event: 'service.stopped' }, 'stopped');
    process.exitCode = 0;
  });
}
const isInTerminal = isatty(STDIN);
// Closing the terminal sends SIGHUP.
const stopSignals = isInTerminal
  ? (['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
  : (['SIGTERM', 'SIGINT'] as const);
onStopSignal(stopSignals, stop, () => process.exit(INTERRUPTED));
if (!isInTerminal) process.on('SIGHUP', () => void reload());

// An unexpected error leaves the state unknown: log it and exit, so that the supervisor restarts the service. Macs resend what was not acknowledged.
for (const source of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(source, (error: unknown) => {
    bridge.failed();
    log.error({ event: 'service.bug', source, err: error }, 'bug: please report this line');
    setTimeout(() => process.exit(BUG), 100);
  });

// Reported after the signal handlers are installed: a supervisor may send a signal as soon as the service is ready.
log.info({ event: 'service.ready', url: bridge.url, operatorUrl: bridge.operatorUrl }, 'ready');
process.send?.('ready');
const toldReady = notifySystemd('READY=1');
tuneCollections();
await collectGarbage().catch((error: unknown) =>
  log.debug({ event: 'service.garbage_kept', err: error }, 'startup garbage not collected'),
);
