// `npm test`: the checks, every test, and the contract's table, in one go.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { check } from './check.ts';
import { printContract } from './contract.ts';

const ROOT = join(import.meta.dirname, '..');
const CACHE = join(ROOT, '.cache');

/** Several processes, servers and browsers each: one file at a time, so that they do not starve each other of their deadlines. */
const HEAVY = ['tests/nodes', 'tests/crashes', 'packages/demo'];
/** Compares costs: beside other tests it would measure them. */
const GUARD = 'tests/bench-guard.test.ts';

const reports: string[] = [];

function vitest(name: string, ...args: string[]): boolean {
  const report = join(CACHE, `vitest-${name}.json`);
  reports.push(report);
  const { status } = spawnSync(
    'npx',
    [
      '--no-install',
      'vitest',
      'run',
      ...args,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
    { cwd: ROOT, stdio: 'inherit' },
  );
  return status === 0;
}

mkdirSync(CACHE, { recursive: true });
const checked = await check();
const light = vitest(
  'light',
  ...[...HEAVY.map((folder) => `${folder}/**`), GUARD].flatMap((path) => ['--exclude', path]),
);
const heavy = vitest('heavy', ...HEAVY, '--no-file-parallelism');
const guarded = vitest('guard', GUARD);
const contract = printContract(reports);
const counts = reports.map(
  (report) => JSON.parse(readFileSync(report, 'utf8')) as { numPassedTests: number; numFailedTests: number },
);
const sum = (name: 'numPassedTests' | 'numFailedTests') =>
  counts.reduce((total, count) => total + count[name], 0);
console.log(`${sum('numPassedTests')} passed, ${sum('numFailedTests')} failed`);
process.exitCode = checked && light && heavy && guarded && contract ? 0 : 1;
