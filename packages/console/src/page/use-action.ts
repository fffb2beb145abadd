import { useSignal } from '@preact/signals';
import type { ReadonlySignal } from '@preact/signals';

export interface Action {
  readonly isRunning: ReadonlySignal<boolean>;
  readonly problem: ReadonlySignal<string | undefined>;
  /** Runs one change at a time. Resolves with whether it succeeded; if not, `problem` has the reason. */
  run(change: () => Promise<unknown>): Promise<boolean>;
}

export function useAction(): Action {
  const isRunning = useSignal(false);
  const problem = useSignal<string | undefined>(undefined);
  return {
    isRunning,
    problem,
    async run(change) {
      if (isRunning.value) return false;
      isRunning.value = true;
      problem.value = undefined;
      try {
        await change();
        return true;
      } catch (error) {
        problem.value = error instanceof Error ? error.message : String(error);
        return false;
      } finally {
        isRunning.value = false;
      }
    },
  };
}
