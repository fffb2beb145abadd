import { describe, expect, it } from 'vitest';

import { closingLines } from './closing-lines.ts';

const report = (numPassedTests: number, numFailedTests: number) => ({
  numPassedTests,
  numFailedTests,
  testResults: [],
});

describe('the closing lines of npm test', () => {
  it('contain the duration of each stage and the number of tests', () => {
    const stages = [
      { name: 'checks', passed: true, seconds: 9.6 },
      { name: 'light tests', passed: true, seconds: 201.2 },
    ];
    expect(closingLines(stages, [report(40, 0), report(2, 0)])).toEqual([
      'Stages: checks 10 s, light tests 201 s',
      '42 passed, 0 failed',
    ]);
  });

  it('name every failed stage in one line, also without a failed test', () => {
    const stages = [
      { name: 'checks', passed: false, seconds: 1 },
      { name: 'light tests', passed: true, seconds: 1 },
      { name: 'heavy tests', passed: false, seconds: 1 },
    ];
    expect(closingLines(stages, [report(3, 0)]).slice(1)).toEqual([
      'Failed: checks, heavy tests',
      '3 passed, 0 failed',
    ]);
  });
});
