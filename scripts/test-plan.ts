import type { TestOptions } from './test-options.ts';

export interface Stage {
  readonly name: string;
  /** Arguments for `vitest run`. */
  readonly args: readonly string[];
}

/** Several processes, servers and browsers each: fewer at a time, so that they do not starve each other of their deadlines. */
const HEAVY = [
  'tests/nodes/',
  'tests/crashes/',
  'packages/demo/src/headless.test.ts',
  'packages/demo/src/page.test.ts',
];
/** Light ones that kill processes or open a browser. */
const NOT_QUICK = ['**/*crash*.test.ts', '**/browser.test.ts', '**/chromium.test.ts'];

const exclude = (paths: readonly string[]) =>
  paths.flatMap((path) => ['--exclude', path.endsWith('/') ? `${path}**` : path]);

/** What runs, in order. */
export function planStages({ quick, filters }: TestOptions): Stage[] {
  if (filters.length > 0) return [{ name: 'selected', args: filters }];
  if (quick) return [{ name: 'quick', args: exclude([...HEAVY, ...NOT_QUICK]) }];
  return [
    { name: 'light', args: exclude(HEAVY) },
    { name: 'heavy', args: [...HEAVY, '--no-file-parallelism'] },
  ];
}
