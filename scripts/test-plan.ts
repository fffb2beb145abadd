import type { TestOptions } from './test-options.ts';

export interface Stage {
  readonly name: string;
  /** Arguments for `vitest run`; the projects are those of vitest.config.ts. */
  readonly args: readonly string[];
}

/** What runs, in order. */
export function planStages({ quick, filters }: TestOptions): Stage[] {
  if (filters.length > 0) return [{ name: 'selected', args: filters }];
  if (quick) return [{ name: 'quick', args: ['--project=shared', '--project=measuring'] }];
  return [
    { name: 'light', args: ['--project=!heavy'] },
    { name: 'heavy', args: ['--project=heavy', '--no-file-parallelism'] },
  ];
}
