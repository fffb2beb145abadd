import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { RunningCandidate } from './harness.ts';
import { tree } from './measure/process-costs.ts';
import { summariseProfile } from './measure/profile.ts';
import type { Interval } from './measure/profile.ts';

/** Records the intervals in which each candidate was measured, and summarises the V8 profiles for these intervals. */
export class Profiles {
  readonly folder: string;
  readonly #intervals = new Map<string, { pids: number[]; intervals: Interval[] }>();

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  watch(path: string): (candidate: RunningCandidate, interval: Interval) => void {
    return (candidate, interval) => {
      const key = `${path}: ${candidate.name}`;
      const entry = this.#intervals.get(key) ?? { pids: tree(candidate.pid), intervals: [] };
      entry.intervals.push(interval);
      this.#intervals.set(key, entry);
    };
  }

  /** Must be called after the candidates have exited. */
  report(): string {
    const parts: string[] = [];
    for (const [key, { pids, intervals }] of this.#intervals) {
      const summary = summariseProfile(this.folder, pids, intervals);
      if (summary === undefined) continue;
      const lines = (rows: readonly (readonly [string, number])[], max: number) =>
        rows.slice(0, max).map(([name, share]) => `  ${(share * 100).toFixed(1).padStart(5)} %  ${name}`);
      parts.push(
        [
          `CPU profile, ${key}`,
          ...lines(summary.groups, 24),
          '  functions',
          ...lines(summary.functions, 40),
        ].join('\n'),
      );
    }
    const text = parts.join('\n\n');
    writeFileSync(join(this.folder, 'summary.txt'), `${text}\n`);
    return text;
  }
}
