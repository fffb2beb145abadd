import type { TestOptions } from './test-options.ts';

export interface Stage {
  readonly name: string;
  /** Arguments for `vitest run`; the projects are those of vitest.config.ts. */
  readonly args: readonly string[];
}

/** Returns the stages in order. A heavy test file uses half a core on average, and occasionally whole cores. */
export function planStages({ quick, filters }: TestOptions, cores: number): Stage[] {
  if (filters.length > 0) return [{ name: 'selected', args: filters }];
  if (quick) return [{ name: 'quick', args: ['--project=shared', '--project=measuring'] }];
  return [
    { name: 'light', args: ['--project=!heavy'] },
    { name: 'heavy', args: ['--project=heavy', `--maxWorkers=${Math.ceil(1.5 * cores)}`] },
  ];
}
