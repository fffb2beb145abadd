import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import type { Report } from './last-run.ts';
import { failedInPause, passedAgain, pauseLines, watchForPauses, withRepeated } from './machine-pauses.ts';

const block = (ms: number) => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

type File = Report['testResults'][number];
const file = (name: string, ...statuses: string[]): File => ({
  name,
  status: statuses.includes('failed') ? 'failed' : 'passed',
  message: '',
  assertionResults: statuses.map((status, index) => ({ title: '', fullName: `test ${index}`, status })),
});
const report = (...testResults: File[]): Report => {
  const all = testResults.flatMap(({ assertionResults }) => assertionResults);
  return {
    numPassedTests: all.filter(({ status }) => status === 'passed').length,
    numFailedTests: all.filter(({ status }) => status === 'failed').length,
    testResults,
  };
};

describe('pauses of the machine', () => {
  it('are detected by a late timer if they last a second or more', async () => {
    const before = Date.now();
    const stopWatch = watchForPauses();
    block(1300);
    await sleep(150);
    block(500);
    await sleep(150);
    const pauses = stopWatch().filter(({ to, from }) => to - from > 1100);
    expect(pauses).toHaveLength(1);
    expect(pauses[0]?.from).toBeGreaterThanOrEqual(before);
    expect(pauses[0]?.to).toBeLessThanOrEqual(Date.now());
  });

  it('are detected at the end of the watch', () => {
    const stopWatch = watchForPauses();
    block(1300);
    expect(stopWatch()).toHaveLength(1);
  });

  it('explain only the failures of files that were running at the time, and had not failed before', () => {
    const failed = (path: string, startedAt: number, failedAt: number) => ({ path, startedAt, failedAt });
    const files = [
      failed('failed before', 0, 1000),
      failed('failed meanwhile', 0, 1500),
      failed('failed afterwards', 0, 5000),
      failed('started meanwhile', 2500, 5000),
      failed('started afterwards', 3000, 5000),
    ];
    const pauses = [{ from: 1000, to: 3000 }];
    expect(failedInPause({ files, others: 0 }, pauses)).toEqual([
      'failed meanwhile',
      'failed afterwards',
      'started meanwhile',
    ]);
    expect(failedInPause({ files, others: 0 }, [])).toEqual([]);
  });

  it('explain nothing if there was an error outside of the tests, or a file did not end', () => {
    const files = [{ path: 'a', startedAt: 0, failedAt: 5000 }];
    expect(failedInPause({ files, others: 1 }, [{ from: 1000, to: 3000 }])).toEqual([]);
  });

  it('are printed with their number, the longest one, and the files that ran again', () => {
    const pauses = [
      { from: 0, to: 1000 },
      { from: 5000, to: 17_340 },
    ];
    expect(pauseLines([], [], '/root')).toEqual([]);
    expect(pauseLines(pauses, ['/root/tests/a.test.ts'], '/root')).toEqual([
      'Pauses of the machine: 2, the longest 12.3 s',
      'Ran again after a pause: tests/a.test.ts',
    ]);
  });
});

describe('files that ran again', () => {
  it('replace their results in the report', () => {
    const first = report(file('a', 'passed'), file('b', 'failed'), file('c', 'failed'));
    expect(withRepeated(first, report(file('b', 'passed')))).toEqual(
      report(file('a', 'passed'), file('c', 'failed'), file('b', 'passed')),
    );
  });

  it.each<[string, File, boolean]>([
    ['every failed test passed', file('a', 'passed', 'passed'), true],
    ['another test was skipped', file('a', 'skipped', 'passed'), true],
    ['the failed test was skipped', file('a', 'passed', 'skipped'), false],
    ['the failed test is missing', file('a', 'passed'), false],
    ['all tests were skipped', file('a', 'skipped', 'skipped'), false],
    ['the file is missing', file('b', 'passed', 'passed'), false],
  ])('are accepted or not: %s', (_what, again, isAccepted) => {
    const first = report(file('a', 'passed', 'failed'));
    expect(passedAgain(first, report(again), ['a'])).toBe(isAccepted);
  });

  it('are accepted with a passed test if their preparation had failed', () => {
    const first = report({ ...file('a', 'skipped'), status: 'failed' });
    expect(passedAgain(first, report(file('a', 'passed')), ['a'])).toBe(true);
    expect(passedAgain(first, report(file('a', 'skipped')), ['a'])).toBe(false);
  });
});
