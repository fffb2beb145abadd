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
    expect(closingLines(stages, [report(40, 0), report(2, 0)], '/footbridge')).toEqual([
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
    expect(closingLines(stages, [report(3, 0)], '/footbridge').slice(1)).toEqual([
      'Failed: checks, heavy tests',
      '3 passed, 0 failed',
    ]);
  });

  it('name each failed test and each file without one, with the error but not its stack', () => {
    const test = { title: 'a', fullName: 'unit a', status: 'failed', failureMessages: ['Error: no\n  at x'] };
    const files = [
      { name: '/footbridge/tests/a.test.ts', status: 'failed', message: '', assertionResults: [test] },
      { name: '/footbridge/tests/b.test.ts', status: 'failed', message: 'Timeout', assertionResults: [] },
      { name: '/footbridge/tests/c.test.ts', status: 'passed', message: '', assertionResults: [] },
    ];
    const reports = [{ ...report(0, 1), testResults: files }];
    expect(closingLines([], reports, '/footbridge').slice(0, 2)).toEqual([
      'Failed: tests/a.test.ts: unit a: Error: no',
      'Failed: tests/b.test.ts: Timeout',
    ]);
  });

  it('contain the counterexample of a failed property, and only the beginning of a long error', () => {
    const failed = (error: string) => ({
      title: 'a',
      fullName: 'unit a',
      status: 'failed',
      failureMessages: [error],
    });
    const counterexample =
      'Error: Property failed\n{ seed: 1 }\nCounterexample: [2]\n\nHint: x\n    at y (z:1:2)';
    const file = {
      name: '/footbridge/a.test.ts',
      status: 'failed',
      message: '',
      assertionResults: [failed(counterexample), failed(`${'x'.repeat(2000)}\n1\n2\n3\n4\n5`)],
    };
    const lines = closingLines([], [{ ...report(0, 2), testResults: [file] }], '/footbridge');
    expect(lines.slice(0, 3)).toEqual([
      'Failed: a.test.ts: unit a: Error: Property failed',
      '  { seed: 1 }',
      '  Counterexample: [2]',
    ]);
    const long = lines.slice(3, -2);
    expect(long).toHaveLength(5);
    expect(Math.max(...long.map(({ length }) => length))).toBeLessThan(1100);
  });
});
