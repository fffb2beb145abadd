import { relative } from 'node:path';

import type { Report } from './last-run.ts';

export interface StageResult {
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
}

/** Per failed test. */
const MAX_LINES = 5;
const MAX_LINE_LENGTH = 1000;

/** Returns the last lines of `npm test`: each failed test, the duration of each stage, the failed stages, and the number of tests. */
export function closingLines(
  stages: readonly StageResult[],
  reports: readonly Report[],
  root: string,
): string[] {
  const durations = stages.map(({ name, seconds }) => `${name} ${seconds.toFixed(0)} s`);
  const failed = stages.filter(({ passed }) => !passed).map(({ name }) => name);
  const sum = (name: 'numPassedTests' | 'numFailedTests') =>
    reports.reduce((total, report) => total + report[name], 0);
  return [
    ...reports.flatMap((report) => failures(report, root)),
    `Stages: ${durations.join(', ')}`,
    ...(failed.length === 0 ? [] : [`Failed: ${failed.join(', ')}`]),
    `${sum('numPassedTests')} passed, ${sum('numFailedTests')} failed`,
  ];
}

/** The whole output is long, and a log may keep only its end. */
function failures({ testResults }: Report, root: string): string[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(root, name);
    const failed = assertionResults.filter((test) => test.status === 'failed');
    // A file that cannot be loaded, or whose preparation failed, has no failed test.
    if (failed.length === 0) return status === 'failed' ? failure(file, message) : [];
    return failed.flatMap((test) => failure(`${file}: ${test.fullName}`, test.failureMessages?.[0]));
  });
}

/** Returns the beginning of the error, without its stack. For a property, it includes the counterexample. */
function failure(what: string, error = ''): string[] {
  const lines = error.split('\n');
  const end = lines.findIndex((line) => line.trim() === '' || /^\s+at /.test(line));
  const [first = '', ...more] = lines
    .slice(0, end === -1 ? undefined : end)
    .slice(0, MAX_LINES)
    .map((line) => line.slice(0, MAX_LINE_LENGTH));
  return [`Failed: ${what}: ${first}`, ...more.map((line) => `  ${line}`)];
}
