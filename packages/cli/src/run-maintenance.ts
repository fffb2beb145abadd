import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import type {
  MaintenanceCode,
  MaintenanceReport,
  MaintenanceRequest,
} from '@footbridge/protocol/maintenance';

import { CliError, EXIT } from './cli-error.ts';
import { withCleanup } from './io.ts';
import type { Io } from './io.ts';

/** The maintenance program. It works on the database and the settings, whether or not the service is running. */
const PROGRAM = fileURLToPath(new URL('../../maintenance/src/main.ts', import.meta.url));
const CLEAR_LINE = '\r\u001b[2K';

const EXIT_CODES: Readonly<Record<MaintenanceCode, number>> = {
  BACKUP_DAMAGED: EXIT.failed,
  BACKUP_KEY_REJECTED: EXIT.notAuthorised,
  BACKUP_NEWER: EXIT.failed,
  DATABASE_IN_USE: EXIT.failed,
  DATABASE_NEWER: EXIT.failed,
  DATABASE_UNUSABLE: EXIT.unreachable,
  DISK_FULL: EXIT.failed,
  FILE_EXISTS: EXIT.failed,
  FILE_NOT_FOUND: EXIT.notFound,
  FILE_NOT_WRITABLE: EXIT.failed,
  SETTINGS_INVALID: EXIT.configuration,
  KEY_INVALID: EXIT.configuration,
  INTERRUPTED: EXIT.interrupted,
};

type Result = Exclude<MaintenanceReport, { type: 'progress' | 'error' }>;

/** Runs a maintenance command with the settings of this environment. Resolves with its result; throws a CliError when it fails. */
export async function runMaintenance<Type extends Result['type']>(
  io: Io,
  request: MaintenanceRequest,
  type: Type,
): Promise<Extract<Result, { type: Type }>> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PROGRAM], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: io.env,
  });
  const closed = once(child, 'close');
  // When its input ends, the program stops and removes incomplete files.
  const stop = async () => {
    child.stdin.end();
    await closed;
  };
  return await withCleanup(io, stop, async () => {
    child.stdin.on('error', () => {});
    child.stdin.write(`${JSON.stringify(request)}\n`);
    let result: Result | undefined;
    for await (const line of createInterface(child.stdout)) {
      const report = JSON.parse(line) as MaintenanceReport;
      if (report.type === 'progress') showProgress(io, report.rows);
      else if (io.stderr.isTTY === true) io.stderr.write(CLEAR_LINE);
      if (report.type === 'error')
        throw new CliError(report.message, {
          exitCode: EXIT_CODES[report.code],
          code: report.code,
          next: report.next,
        });
      if (report.type !== 'progress') result = report;
    }
    if (result?.type === type) return result as Extract<Result, { type: Type }>;
    throw new CliError('the command exited before it finished; nothing was replaced', {
      next: 'run it again',
    });
  });
}

function showProgress({ stderr }: Io, rows: number): void {
  if (stderr.isTTY === true) stderr.write(`${CLEAR_LINE}${rows} rows`);
}
