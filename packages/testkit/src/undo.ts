import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What a test opened and must close again. */
export interface Undo {
  add(undo: () => unknown): void;
  /** Newest first; every one runs even if another fails; a second run has nothing left to do. */
  run(): Promise<void>;
}

/** `const undo = undoList(); afterEach(() => undo.run());` */
export function undoList(): Undo {
  const steps: (() => unknown)[] = [];
  return {
    add(undo) {
      steps.push(undo);
    },
    async run() {
      const failures: unknown[] = [];
      for (let step = steps.pop(); step; step = steps.pop()) {
        try {
          await step();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length === 1) throw failures[0];
      if (failures.length > 1) throw new AggregateError(failures, `${failures.length} cleanups failed.`);
    },
  };
}

/** A directory of its own for one test. */
export async function tempDir(undo: Undo): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'footbridge-'));
  // A process that was killed a moment ago may still be writing here.
  undo.add(() => rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return dir;
}
