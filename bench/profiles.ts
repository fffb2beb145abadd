import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Lane } from './arena.ts';
import { tree } from './measure/process-costs.ts';
import { summariseProfile } from './measure/profile.ts';
import type { Stretch } from './measure/profile.ts';

/** Remembers when which contestant was at work on which path, and reads that out of the profiles once they are written. */
export class Profiles {
  readonly folder: string;
  readonly #stretches = new Map<string, { pids: number[]; stretches: Stretch[] }>();

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  watch(path: string): (lane: Lane, stretch: Stretch) => void {
    return (lane, stretch) => {
      const key = `${path}: ${lane.name}`;
      const known = this.#stretches.get(key) ?? { pids: tree(lane.pid), stretches: [] };
      known.stretches.push(stretch);
      this.#stretches.set(key, known);
    };
  }

  /** To be called when the contestants have ended. */
  report(): string {
    const parts: string[] = [];
    for (const [key, { pids, stretches }] of this.#stretches) {
      const summary = summariseProfile(this.folder, pids, stretches);
      if (summary === undefined) continue;
      const lines = (rows: readonly (readonly [string, number])[], most: number) =>
        rows.slice(0, most).map(([name, share]) => `  ${(share * 100).toFixed(1).padStart(5)} %  ${name}`);
      parts.push(
        [
          `where the time goes, ${key}`,
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
