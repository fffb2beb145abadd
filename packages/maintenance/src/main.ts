import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

import { setPriorityIfAllowed } from '@footbridge/media/process-priority';
import type {
  MaintenanceCode,
  MaintenanceReport,
  MaintenanceRequest,
} from '@footbridge/protocol/maintenance';
import { ignoreDebuggerSignal } from '@footbridge/runtime/debugger-signal.js';
import { createFailpoints } from '@footbridge/runtime/failpoints';
import { StartError, isDiskFull } from '@footbridge/service/platform/errors';
import { loadConfig } from '@footbridge/service/config';
import type { Config } from '@footbridge/service/config';
import { reason } from '@footbridge/service/platform/sql/open-database';

import { backup } from './backup.ts';
import type { BackupDeps } from './backup.ts';
import { checkConfig } from './check-config.ts';
import { MaintenanceError } from './maintenance-error.ts';
import { applyMigrations, checkMigrations } from './migrations.ts';
import { checkBackup, restore } from './restore.ts';
import { keyFrom } from './sealed-file.ts';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

/** A backup must not slow down the service. */
const LOW_PRIORITY = 10;
const MIN_KEY_LENGTH = 16;

const report = (line: MaintenanceReport) => void process.stdout.write(`${JSON.stringify(line)}\n`);

ignoreDebuggerSignal();
// The CLI keeps standard input open. When the CLI exits, standard input closes and the work is aborted.
const interrupted = new AbortController();
const lines = createInterface(process.stdin);
lines.once('line', (line) => void run(JSON.parse(line) as MaintenanceRequest));
lines.once('close', () => interrupted.abort());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupted.abort());

async function run(request: MaintenanceRequest): Promise<void> {
  try {
    report(await perform(request));
  } catch (error) {
    report(errorReport(error));
    process.exitCode = 1;
  } finally {
    lines.close();
    process.stdin.destroy();
  }
}

async function perform(request: MaintenanceRequest): Promise<MaintenanceReport> {
  if (request.action === 'config-check') return { type: 'config', config: checkConfig(process.env, '.env') };
  const { config } = loadConfig(process.env);
  if (request.action === 'migrate') {
    const migrations = request.checkOnly ? checkMigrations : applyMigrations;
    return { type: 'migrations', databases: await migrations(config) };
  }
  const deps = depsOf(config, request.key);
  if (request.action === 'restore')
    return request.checkOnly
      ? { type: 'backup', backup: await checkBackup(deps, request.file) }
      : { type: 'restored', ...(await restore(deps, request.file)) };
  setPriorityIfAllowed(LOW_PRIORITY);
  return { type: 'backup', backup: await backup(deps, request.file, request.force) };
}

function depsOf(config: Config, key = config.backupKey): BackupDeps {
  if (key === undefined || key.length < MIN_KEY_LENGTH)
    throw new MaintenanceError(
      'KEY_INVALID',
      key === undefined ? 'no key is given' : `the key is shorter than ${MIN_KEY_LENGTH} characters`,
      'pass --key-file, or set BACKUP_KEY_FILE; openssl rand -hex 32 makes a key',
    );
  let reported = 0;
  return {
    config,
    version,
    keyOf: keyFrom(key),
    failpoint: createFailpoints(config.failpoints),
    signal: interrupted.signal,
    onRows(rows) {
      if (performance.now() - reported < 200) return;
      reported = performance.now();
      report({ type: 'progress', rows });
    },
  };
}

/** Returns whether an error has the code of SQLite or an SQLSTATE of PostgreSQL. */
const isDatabaseError = (error: unknown) =>
  error instanceof Error && 'code' in error && /^(ERR_SQLITE_ERROR|[\dA-Z]{5})$/.test(String(error.code));

/** Returns the code and the next step for an error that also prevents the service from starting. */
function startRemedy({ exitCode, cause }: StartError): { code: MaintenanceCode; next: string } {
  if (exitCode === 3)
    return { code: 'SETTINGS_INVALID', next: 'run footbridge config check to list all problems' };
  if (isDiskFull(cause)) return { code: 'DISK_FULL', next: 'free some space, then run the command again' };
  return { code: 'DATABASE_UNUSABLE', next: 'see docs/operate.md' };
}

function errorReport(error: unknown): MaintenanceReport {
  if (error instanceof MaintenanceError)
    return { type: 'error', code: error.code, message: error.message, next: error.next };
  if (error instanceof StartError)
    return { type: 'error', message: error.problems.join('; '), ...startRemedy(error) };
  if (interrupted.signal.aborted)
    return {
      type: 'error',
      code: 'INTERRUPTED',
      message: 'interrupted; nothing was replaced',
      next: 'run the command again',
    };
  if (isDatabaseError(error))
    return {
      type: 'error',
      code: 'DATABASE_UNUSABLE',
      message: `the database cannot be used: ${reason(error)}; nothing was replaced`,
      next: 'check the privileges of the database user and the database log',
    };
  throw error;
}
