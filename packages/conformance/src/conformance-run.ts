import { toResult } from './check.ts';
import type { CheckResult, Outcome } from './check.ts';
import { RULES } from './rules.ts';
import type { RuleName } from './rules.ts';

/** Runs checks one after another and collects their results. */
export interface ConformanceRun {
  readonly results: readonly CheckResult[];
  /** Runs a check and resolves with its outcome. */
  check(name: RuleName, work: () => Promise<Outcome> | Outcome): Promise<Outcome>;
  /** Records that checks could not run. */
  skip(names: readonly RuleName[], because: Outcome): Promise<void>;
}

export function createRun(onResult: (result: CheckResult) => void): ConformanceRun {
  const results: CheckResult[] = [];
  async function check(name: RuleName, work: () => Promise<Outcome> | Outcome): Promise<Outcome> {
    const started = performance.now();
    const found = await work();
    const result = toResult(RULES[name], found, performance.now() - started);
    results.push(result);
    onResult(result);
    return found;
  }
  return {
    results,
    check,
    async skip(names, because) {
      for (const name of names) await check(name, () => because);
    },
  };
}
