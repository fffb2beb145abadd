// Prints clause → tests → result for every clause of the contract, from one run of the tests.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
const CLAUSES = 'tests/contract/clauses.json';
const OPEN = 'tests/contract/open.json';
const TITLE = /^([WSAIFMOLHVE]\d{1,2})\b/;

interface Report {
  testResults: { assertionResults: { title: string; status: string }[] }[];
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

/** The table as lines, and what is wrong with it. */
export function contractTable(report: Report): { lines: string[]; faults: string[] } {
  const clauses = readJson(CLAUSES) as Record<string, string>;
  const open = new Set(readJson(OPEN) as string[]);
  const results = new Map<string, { passed: number; failed: number }>();
  const faults: string[] = [];
  for (const { title, status } of report.testResults.flatMap((file) => file.assertionResults)) {
    const [, clause] = TITLE.exec(title) ?? [];
    if (clause === undefined) continue;
    if (!(clause in clauses)) faults.push(`a test names clause ${clause}, which does not exist: ${title}`);
    const result = results.get(clause) ?? { passed: 0, failed: 0 };
    if (status === 'passed') result.passed++;
    else if (status === 'failed') result.failed++;
    results.set(clause, result);
  }
  const lines = Object.entries(clauses).map(([clause, about]) => {
    const { passed, failed } = results.get(clause) ?? { passed: 0, failed: 0 };
    const state = failed > 0 ? 'FAIL' : passed > 0 ? 'pass' : open.has(clause) ? 'open' : 'MISSING';
    if (state === 'FAIL' || state === 'MISSING')
      faults.push(`${clause} ${state === 'FAIL' ? 'has a failing test' : 'has no passing test'}`);
    if (state === 'pass' && open.has(clause))
      faults.push(`${clause} has passing tests: take it out of ${OPEN}`);
    return `${clause.padEnd(4)} ${state.padEnd(8)} ${String(passed).padStart(4)} tests  ${about}`;
  });
  return { lines, faults: [...faults, ...grownOpenList(open)] };
}

/** The list of open clauses may only shrink, compared with the version before its last change. A clause that is new since then may be open. */
function grownOpenList(open: ReadonlySet<string>): string[] {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const [, previous] = git('log', '-2', '--format=%H', '--', OPEN).trim().split('\n');
    if (previous === undefined) return [];
    const before = JSON.parse(git('show', `${previous}:${OPEN}`)) as string[];
    const clausesBefore = JSON.parse(git('show', `${previous}:${CLAUSES}`)) as Record<string, string>;
    return [...open]
      .filter((clause) => clause in clausesBefore && !before.includes(clause))
      .map((clause) => `${clause} was closed before and is listed as open again`);
  } catch {
    return []; // Not a git checkout: nothing to compare with.
  }
}

export function printContract(reportFiles: readonly string[]): boolean {
  if (!reportFiles.every((file) => existsSync(file))) {
    console.error('contract: the tests left no report');
    return false;
  }
  const testResults = reportFiles.flatMap(
    (file) => (JSON.parse(readFileSync(file, 'utf8')) as Report).testResults,
  );
  const { lines, faults } = contractTable({ testResults });
  for (const line of lines) console.log(/ (FAIL|MISSING) /.test(line) ? styleText('red', line) : line);
  for (const fault of faults) console.error(styleText('red', `contract: ${fault}`));
  return faults.length === 0;
}

if (import.meta.main) {
  const report = join(ROOT, '.cache/contract.json');
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  spawnSync(
    'npx',
    [
      'vitest',
      'run',
      '-t',
      '^[WSAIFMOLHVE]\\d{1,2}\\b| [WSAIFMOLHVE]\\d{1,2} ',
      '--reporter=dot',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
    {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  process.exitCode = printContract([report]) ? 0 : 1;
}
