// `npm test`: the checks, every test, and the contract's table, in one go.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { check } from './check.ts';
import { printContract } from './contract.ts';

const ROOT = join(import.meta.dirname, '..');
const REPORT = join(ROOT, '.cache/vitest.json');

mkdirSync(join(ROOT, '.cache'), { recursive: true });
const checked = await check();
const GUARD = 'tests/bench-guard.test.ts';
const vitest = (...args: string[]) =>
  spawnSync('npx', ['--no-install', 'vitest', 'run', ...args], { cwd: ROOT, stdio: 'inherit' }).status === 0;

const tested = vitest(
  '--exclude',
  GUARD,
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${REPORT}`,
);
// What compares costs runs alone: beside other tests it would measure them.
const guarded = vitest(GUARD);
const contract = printContract(REPORT);
const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(REPORT, 'utf8')) as {
  numPassedTests: number;
  numFailedTests: number;
};
console.log(`${numPassedTests} passed, ${numFailedTests} failed`);
process.exitCode = checked && tested && guarded && contract ? 0 : 1;
