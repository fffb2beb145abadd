import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The cleanup functions of a test. */
export interface Undo {
  add(undo: () => unknown): void;
  /** Runs the functions, newest first, even if some of them fail, and removes them. Rejects with their errors. */
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
      const errors: unknown[] = [];
      for (let step = steps.pop(); step; step = steps.pop()) {
        try {
          await step();
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length === 1) throw errors[0];
      if (errors.length > 1) throw new AggregateError(errors, `${errors.length} cleanups failed.`);
    },
  };
}

/** Creates a temporary directory for one test. */
export async function tempDir(undo: Undo): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'footbridge-'));
  // A process that is being killed may still write here.
  undo.add(() => rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return dir;
}
