// `npm run contract`: clause → tests → result, from the reports of the last run of the tests. It runs nothing itself.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';

import { contractTable } from './contract-table.ts';
import type { Clauses, Report } from './contract-table.ts';

const ROOT = join(import.meta.dirname, '..');
const CLAUSES = 'tests/contract/clauses.json';
const OPEN = 'tests/contract/open.json';

const KINDS = ['full', 'quick'] as const;

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

/** Where vitest writes its report of a run. */
export function reportOf(root: string, kind: (typeof KINDS)[number]): string {
  return join(root, '.cache', `tests-${kind}.json`);
}

/** Removes the reports, so that an interrupted run is not taken for the one before it. */
export function forgetRuns(root: string): void {
  for (const kind of KINDS) rmSync(reportOf(root, kind), { force: true });
}

/** Prints the table of the last run. Returns whether there is one and nothing is wrong with it. */
export function printContract(root: string): boolean {
  const kind = KINDS.find((one) => existsSync(reportOf(root, one)));
  if (kind === undefined) {
    console.error(
      'contract: no test run is recorded, or it did not end; npm test records a full one, npm test -- --quick a partial one',
    );
    return false;
  }
  const report = JSON.parse(readFileSync(reportOf(root, kind), 'utf8')) as Report;
  const open = readJson(OPEN) as string[];
  const clauses = readJson(CLAUSES) as Clauses;
  const { lines, faults } = contractTable(clauses, new Set(open), report, kind === 'quick');
  for (const line of lines) console.log(/ (FAIL|MISSING) /.test(line) ? styleText('red', line) : line);
  console.log(`contract: ${kind} run of ${new Date(report.startTime).toISOString()}`);
  if (kind === 'quick')
    console.log('contract: a partial run does not cover all clauses; npm test runs all of them');
  const wrong = [...faults, ...grownOpenList(open)];
  for (const fault of wrong) console.error(styleText('red', `contract: ${fault}`));
  return wrong.length === 0;
}

/** The list of open clauses may only shrink, compared with the version before its last change. A clause that is new since then may be open. */
function grownOpenList(open: readonly string[]): string[] {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const [, previous] = git('log', '-2', '--format=%H', '--', OPEN).trim().split('\n');
    if (previous === undefined) return [];
    const before = JSON.parse(git('show', `${previous}:${OPEN}`)) as string[];
    const clausesBefore = JSON.parse(git('show', `${previous}:${CLAUSES}`)) as Clauses;
    return open
      .filter((clause) => clause in clausesBefore && !before.includes(clause))
      .map((clause) => `${clause} was closed before and is listed as open again`);
  } catch {
    return []; // Not a git checkout: nothing to compare with.
  }
}

if (import.meta.main) process.exitCode = printContract(ROOT) ? 0 : 1;
