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
const { status } = spawnSync(
  'npx',
  ['--no-install', 'vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`],
  {
    cwd: ROOT,
    stdio: 'inherit',
  },
);
const contract = printContract(REPORT);
const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(REPORT, 'utf8')) as {
  numPassedTests: number;
  numFailedTests: number;
};
console.log(`${numPassedTests} passed, ${numFailedTests} failed`);
process.exitCode = checked && status === 0 && contract ? 0 : 1;
