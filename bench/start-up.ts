// Measures the start of the service, its idle memory and the start of the command line:
// node scripts/run.mjs bench/start-up.ts [--rounds 10] [--idle-seconds 30]. Exits with 1 if a target is missed.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { freePort } from '@footbridge/testkit/ports';

import { numberOptions } from './measure/number-options.ts';
import { residentBytes, tree } from './measure/process-costs.ts';
import { quantile } from './measure/statistics.ts';
import { verdictTable } from './report.ts';
import type { Verdict } from './targets.ts';

const options = numberOptions({ rounds: 10, 'idle-seconds': 30 });
const ROOT = join(import.meta.dirname, '..');
const CLI = join(ROOT, 'packages/cli/bin/footbridge');
const COMMANDS = [['--version'], ['--help'], ['license', 'list']];
const POLL_MS = 5;
const MEGABYTE = 1024 * 1024;

/** Without the packaged Node, which `scripts/run.mjs` puts first: npm and the launcher run on the system's Node, as they do for a user. */
const PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => folder !== dirname(process.execPath))
  .join(delimiter);

interface StartedService {
  readonly ms: number;
  readonly pid: number;
  readonly env: Record<string, string>;
  stop(): Promise<void>;
}

/** Runs `npm start` with an empty data folder. Resolves when `/health` responds. */
async function startService(dataDir: string): Promise<StartedService> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const env = {
    PATH,
    HOME: process.env['HOME'] ?? '',
    HOST: '127.0.0.1',
    PORT: String(port),
    ADMIN_PORT: String(adminPort),
    DATA_DIR: dataDir,
  };
  const started = performance.now();
  const npm = spawn('npm', ['start'], { cwd: ROOT, env, stdio: 'ignore' });
  const ended = once(npm, 'exit');
  while (!(await isHealthy(port))) {
    if (npm.exitCode !== null) throw new Error(`npm start exited with code ${npm.exitCode}`);
    await sleep(POLL_MS);
  }
  const ms = performance.now() - started;
  const pid = tree(npm.pid ?? 0).at(-1) ?? 0;
  const stop = async () => {
    process.kill(pid, 'SIGTERM');
    await ended;
  };
  return { ms, pid, env, stop };
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/health`)).ok;
  } catch {
    return false;
  }
}

function commandMs(args: readonly string[], { env }: StartedService): number {
  const started = performance.now();
  const { status, stderr } = spawnSync(CLI, args, { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the command ${args.join(' ')} exited with code ${status}: ${stderr}`);
  return performance.now() - started;
}

const cleanup = createCleanup();
const starts: number[] = [];
const commands = COMMANDS.map((args) => ({ args, times: [] as number[] }));
const verdicts: Verdict[] = [];
const atMost = (target: string, value: number, limit: number, unit: string) =>
  verdicts.push({ target, value, limit, unit, reached: value <= limit });
try {
  for (let round = 0; round < options.rounds; round += 1) {
    const service = await startService(await tempDir(cleanup));
    starts.push(service.ms);
    for (const { args, times } of commands) times.push(commandMs(args, service));
    await service.stop();
  }
  const service = await startService(await tempDir(cleanup));
  cleanup.add(() => service.stop());
  await sleep(options['idle-seconds'] * 1000);
  atMost('npm start until /health responds', quantile(starts, 0.5) / 1000, 0.8, 's');
  atMost('idle memory of the service', residentBytes(service.pid) / MEGABYTE, 120, 'MB');
  for (const { args, times } of commands)
    atMost(`the command ${args.join(' ')}`, quantile(times, 0.5), 100, 'ms');
  process.stdout.write(`${verdictTable(verdicts)}\n`);
  process.exitCode = verdicts.every(({ reached }) => reached) ? 0 : 1;
} finally {
  await cleanup.run();
}
