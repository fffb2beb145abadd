import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The cleanup functions of a test. */
export interface Cleanup {
  add(task: () => unknown): void;
  /** Runs the functions, newest first, even if some of them fail, and removes them. Rejects with their errors. */
  run(): Promise<void>;
}

/** `const cleanup = createCleanup(); afterEach(() => cleanup.run());` */
export function createCleanup(): Cleanup {
  const tasks: (() => unknown)[] = [];
  return {
    add(task) {
      tasks.push(task);
    },
    async run() {
      const errors: unknown[] = [];
      for (let task = tasks.pop(); task; task = tasks.pop()) {
        try {
          await task();
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
export async function tempDir(cleanup: Cleanup): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'footbridge-'));
  // A process that is being killed may still write here.
  cleanup.add(() => rm(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return dir;
}
