import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Failures } from './failure-times.ts';

/** A full or quick run of the tests. Written when it starts, so that an interrupted run is not taken for the one before. */
export interface Run {
  readonly kind: 'full' | 'quick';
  readonly node: string;
  readonly startedAt: string;
  /** Names of the stages of tests; each leaves a report. */
  readonly stages: readonly string[];
}

/** The part of vitest's JSON report that is used here. */
export interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    /** Path of the file. */
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly title: string;
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

const RECORD = 'last-run.json';

/** vitest's report of a stage. */
export function reportPath(cache: string, stage: string): string {
  return join(cache, `vitest-${stage}.json`);
}

/** The failures of a stage, as the reporter in failure-times.ts writes them. */
export function failuresPath(cache: string, stage: string): string {
  return join(cache, `failures-${stage}.json`);
}

/** Removes the reports of an earlier run, so that they are not taken for those of a stage that did not end. */
export function removeReports(cache: string, stages: readonly string[]): void {
  for (const stage of stages)
    for (const path of [reportPath(cache, stage), failuresPath(cache, stage)]) rmSync(path, { force: true });
}

export function recordRun(cache: string, run: Run): void {
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, RECORD), `${JSON.stringify(run, null, 2)}\n`);
}

export function lastRun(cache: string): Run | undefined {
  const path = join(cache, RECORD);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Run) : undefined;
}

export function writeReport(cache: string, stage: string, report: Report): void {
  writeFileSync(reportPath(cache, stage), JSON.stringify(report));
}

/** The report of a stage, or undefined if the stage did not end. */
export function readReport(cache: string, stage: string): Report | undefined {
  const path = reportPath(cache, stage);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Report) : undefined;
}

/** The failures of a stage. A stage that did not end counts as one. */
export function readFailures(cache: string, stage: string): Failures {
  const path = failuresPath(cache, stage);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Failures) : { files: [], others: 1 };
}
