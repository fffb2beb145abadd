// A reporter for vitest that writes when each file failed, and whether anything else did. vitest's JSON report has neither.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';

import type { Reporter, TestModule } from 'vitest/node';

/** The failures of a run. */
export interface Failures {
  readonly files: readonly FailedFile[];
  /** The number of errors outside of tests and of files that did not end. */
  readonly others: number;
}

export interface FailedFile {
  readonly path: string;
  /** In milliseconds since 1970; includes the time in which the file is loaded. */
  readonly startedAt: number;
  /** The end of the first failed test, or of the file if its preparation failed. */
  readonly failedAt: number;
}

/** The environment variable with the path of the file to write. */
export const FAILURES_FILE = 'FOOTBRIDGE_TEST_FAILURES';

export default class FailureTimes implements Reporter {
  readonly #startedAt = new Map<string, number>();
  readonly #endedAt = new Map<string, number>();

  onTestModuleQueued({ moduleId }: TestModule): void {
    this.#startedAt.set(moduleId, Date.now());
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    this.#endedAt.set(moduleId, Date.now());
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const path = process.env[FAILURES_FILE];
    if (path === undefined) return;
    const isEnded = (module: TestModule) => module.state() !== 'pending' && module.state() !== 'queued';
    const files = modules
      .filter((module) => module.state() === 'failed')
      .map((module) => this.#failed(module));
    const others = errors.length + modules.filter((module) => !isEnded(module)).length;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify({ files, others } satisfies Failures));
  }

  #failed({ moduleId, children }: TestModule): FailedFile {
    const ends = [...children.allTests('failed')].map((test) => {
      const { startTime = 0, duration = 0 } = test.diagnostic() ?? {};
      return startTime + duration;
    });
    return {
      path: moduleId,
      startedAt: this.#startedAt.get(moduleId) ?? 0,
      failedAt: Math.min(...ends, this.#endedAt.get(moduleId) ?? Date.now()),
    };
  }
}
