import { relative } from 'node:path';
import { performance } from 'node:perf_hooks';

import type { Failures } from './failure-times.ts';
import type { Report } from './last-run.ts';

/** A time in which the machine ran nothing, in milliseconds since 1970. */
export interface Pause {
  readonly from: number;
  readonly to: number;
}

const EVERY_MS = 100;
/** The shortest deadline of the service, its wait for a response from Redis. A shorter pause exceeds none. */
const MIN_PAUSE_MS = 1000;

/**
 * Watches for pauses of the machine, such as a virtual machine that is suspended. The calling process must be idle: its timers are then
 * late by a second only if the machine is paused or severely starved. Returns a function that ends the watch.
 */
export function watchForPauses(): () => Pause[] {
  const pauses: Pause[] = [];
  let last = [performance.now(), Date.now()] as const;
  const check = () => {
    const [monotonic, wall] = last;
    last = [performance.now(), Date.now()];
    // The monotonic clock of a suspended machine stops.
    const lateMs = Math.max(last[0] - monotonic, last[1] - wall) - EVERY_MS;
    if (lateMs >= MIN_PAUSE_MS) pauses.push({ from: last[1] - lateMs, to: last[1] });
  };
  const timer = setInterval(check, EVERY_MS);
  return () => {
    clearInterval(timer);
    check();
    return pauses;
  };
}

/**
 * Returns the files that failed during or after a pause in which they were running. Their deadlines passed during the pause, so these
 * failures prove nothing. Returns none if anything else failed.
 */
export function failedInPause({ files, others }: Failures, pauses: readonly Pause[]): string[] {
  if (others > 0) return [];
  return files
    .filter(({ startedAt, failedAt }) => pauses.some(({ from, to }) => from < failedAt && startedAt < to))
    .map(({ path }) => path);
}

/** Returns the report of a stage with the results of the files that ran again. */
export function withRepeated(first: Report, again: Report): Report {
  const repeated = new Set(again.testResults.map(({ name }) => name));
  const testResults = [...first.testResults.filter(({ name }) => !repeated.has(name)), ...again.testResults];
  const count = (wanted: string) => testsOf({ testResults }).filter(({ status }) => status === wanted).length;
  return { ...first, numPassedTests: count('passed'), numFailedTests: count('failed'), testResults };
}

/** Returns whether the second run was complete: each file has a passed test, and each test that failed has passed. */
export function passedAgain(first: Report, again: Report, files: readonly string[]): boolean {
  return files.every((path) => {
    const of = ({ testResults }: Report) =>
      testsOf({ testResults: testResults.filter(({ name }) => name === path) });
    const passed = new Set(
      of(again).flatMap(({ status, fullName }) => (status === 'passed' ? [fullName] : [])),
    );
    return (
      passed.size > 0 &&
      of(first).every(({ status, fullName }) => status !== 'failed' || passed.has(fullName))
    );
  });
}

const testsOf = ({ testResults }: Pick<Report, 'testResults'>) =>
  testResults.flatMap(({ assertionResults }) => assertionResults);

/** Returns lines on the pauses and the files that ran again, for the end of the output. */
export function pauseLines(pauses: readonly Pause[], repeated: readonly string[], root: string): string[] {
  if (pauses.length === 0) return [];
  const longest = Math.max(...pauses.map(({ from, to }) => to - from));
  return [
    `Pauses of the machine: ${pauses.length}, the longest ${(longest / 1000).toFixed(1)} s`,
    ...repeated.map((file) => `Ran again after a pause: ${relative(root, file)}`),
  ];
}
