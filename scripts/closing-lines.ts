import type { Report } from './last-run.ts';

export interface StageResult {
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
}

/** Returns the last lines of `npm test`: the duration of each stage, the failed stages, and the number of tests. */
export function closingLines(stages: readonly StageResult[], reports: readonly Report[]): string[] {
  const durations = stages.map(({ name, seconds }) => `${name} ${seconds.toFixed(0)} s`);
  const failed = stages.filter(({ passed }) => !passed).map(({ name }) => name);
  const sum = (name: 'numPassedTests' | 'numFailedTests') =>
    reports.reduce((total, report) => total + report[name], 0);
  return [
    `Stages: ${durations.join(', ')}`,
    ...(failed.length === 0 ? [] : [`Failed: ${failed.join(', ')}`]),
    `${sum('numPassedTests')} passed, ${sum('numFailedTests')} failed`,
  ];
}
