import { relative } from 'node:path';

import type { Report } from './last-run.ts';

export interface StageResult {
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
}

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
    if (failed.length === 0) return status === 'failed' ? [`Failed: ${file}: ${firstLine(message)}`] : [];
    return failed.map((test) => `Failed: ${file}: ${test.fullName}: ${firstLine(test.failureMessages?.[0])}`);
  });
}

const firstLine = (text = '') => text.split('\n', 1)[0] ?? '';
