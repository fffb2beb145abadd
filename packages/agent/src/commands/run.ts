import { createBlockingFailpoints } from '@footbridge/runtime/failpoints';
import { createLog } from '@footbridge/runtime/log';
import type { Log } from '@footbridge/runtime/log';
import { onStopSignal } from '@footbridge/runtime/stop-signals';

import { startAgent } from '../agent.ts';
import { summary } from '../config/config.ts';
import type { AgentConfig, ReadConfig } from '../config/config.ts';
import { EXIT, exitCodeWhenAway } from './exit-codes.ts';
import { unencryptedLink } from '../config/unencrypted-link.ts';
import { AGENT_VERSION } from '../config/version.ts';
import { isLocked } from '../edges/data-dir.ts';
import { LogFile } from '../edges/log-file.ts';
import { comeBack, stayAway } from '../edges/stay-away.ts';
import { ConfigurationError, ControlPortError, DataDirLockedError } from '../errors.ts';
import type { Output } from './output.ts';

const STOP_TIMEOUT_MS = 15_000;

/**
 * Runs the agent until a signal arrives or the agent must not reconnect. Resolves with the exit code. Keeps launchd from restarting the
 * agent when a restart would not help.
 */
export async function run(read: ReadConfig, failpoints: string | undefined, output: Output): Promise<number> {
  if (!read.ok) return cannotRun(read.problems, read.dataDir, output);
  try {
    return await runAgent(read.value, failpoints);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    // When the other agent ends, launchd must start this one.
    const mayRunLater = error instanceof DataDirLockedError || error instanceof ControlPortError;
    return cannotRun([error.message], mayRunLater ? undefined : read.dataDir, output);
  }
}

function cannotRun(problems: readonly string[], dataDir: string | undefined, output: Output): number {
  for (const problem of problems) output.problem(problem);
  if (dataDir !== undefined) stayAwayUnlessRunning(dataDir, problems.join(' '));
  return EXIT.configuration;
}

/** Keeps launchd from restarting this agent, unless another agent runs in the folder: launchd must restart that one after a crash. */
function stayAwayUnlessRunning(dataDir: string, because: string): void {
  try {
    if (!isLocked(dataDir)) stayAway(dataDir, because);
  } catch {
    // The folder does not exist, so no installed agent uses it.
  }
}

async function runAgent(config: AgentConfig, failpoints: string | undefined): Promise<number> {
  comeBack(config.dataDir);
  const log = openLog(config);
  // Installed before the first log line, after which a supervisor may send a signal.
  const signalled = firstSignal();
  let stopTimeout: NodeJS.Timeout | undefined;
  // A hanging start or job must not block the exit. The next start finds out the outcome of the job.
  const limitStop = () => {
    stopTimeout ??= setTimeout(() => process.exit(EXIT.failed), STOP_TIMEOUT_MS);
  };
  void signalled.then(limitStop);
  try {
    log.info({ event: 'agent.starting', version: AGENT_VERSION, settings: summary(config) }, 'starting');
    const because = unencryptedLink(config.url)?.detail;
    if (because !== undefined) log.warn({ event: 'link.unencrypted', because }, 'connection not encrypted');
    const agent = await startAgent(config, { log, failpoint: createBlockingFailpoints(failpoints) });
    const end = await Promise.race([agent.ended, signalled]).catch(async (error: unknown) => {
      log.error({ event: 'agent.failed', err: error }, 'link failed, stopping');
      limitStop();
      // `stop` rejects with the same error.
      await agent.stop().catch(() => {});
      throw error;
    });
    if (typeof end === 'string') log.info({ event: 'agent.stopping', signal: end }, 'stopping');
    const isAway = typeof end === 'object' && end.state === 'away';
    if (isAway) stayAway(config.dataDir, end.because);
    limitStop();
    await agent.stop();
    if (isAway) return exitCodeWhenAway(end.code);
    const signal = typeof end === 'string' ? end : undefined;
    log.info({ event: 'agent.stopped', signal }, 'stopped');
    return EXIT.done;
  } finally {
    clearTimeout(stopTimeout);
  }
}

/** Falls back to standard output when the log file cannot be opened. */
function openLog({ logFile, logLevel }: AgentConfig): Log {
  const options = { service: 'footbridge-agent', sync: true };
  if (logFile === undefined) return createLog(logLevel, options);
  try {
    const onRotationFailed = (error: unknown): void =>
      log.error(
        { event: 'log.rotation_failed', err: error },
        'log rotation failed, truncating the file at 40 MB',
      );
    const onTruncationFailed = (error: unknown): void =>
      log.error(
        { event: 'log.truncation_failed', err: error },
        'log truncation failed, the file keeps growing',
      );
    const log = createLog(logLevel, {
      ...options,
      destination: new LogFile(logFile, { onRotationFailed, onTruncationFailed }),
    });
    return log;
  } catch (error) {
    const log = createLog(logLevel, options);
    log.error(
      { event: 'log.file_not_opened', err: error },
      'log file not opened, logging to standard output',
    );
    return log;
  }
}

/** Resolves at the first signal to stop. A second Control-C ends the process at once. */
function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    onStopSignal(['SIGINT', 'SIGTERM', 'SIGHUP'], resolve, () => process.exit(EXIT.interrupted));
  });
}
