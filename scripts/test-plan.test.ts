import { globSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';

import { describe, expect, it } from 'vitest';

import { ALL_TESTS, GROUPS, LONG } from './test-groups.ts';
import { planStages } from './test-plan.ts';

const ALL = { quick: false, node: undefined, filters: [] };
const FILES = globSync(ALL_TESTS, {
  cwd: join(import.meta.dirname, '..'),
  exclude: (path) => path.includes('node_modules'),
});
const groupsOf = (file: string) =>
  Object.entries(GROUPS)
    .filter(([, globs]) => globs.some((glob) => matchesGlob(file, glob)))
    .map(([name]) => name);

describe('the groups of tests', () => {
  it('put no file into two groups', () => {
    expect(FILES.length).toBeGreaterThan(150);
    expect(FILES.filter((file) => groupsOf(file).length > 1)).toEqual([]);
  });

  it.each(Object.values(GROUPS).flat())('%s names files that exist', (glob) => {
    expect(FILES.some((file) => matchesGlob(file, glob))).toBe(true);
  });

  it.each(FILES.filter((file) => /crash|browser|chromium|nodes\//.test(file)))(
    '%s is not part of a quick run',
    (file) => {
      expect(['heavy', 'disruptive']).toContain(groupsOf(file)[0]);
    },
  );
});

it.each(LONG)('%s, which runs first, exists', (file) => {
  expect(FILES).toContain(file);
});

describe('the plan of npm test', () => {
  it('runs every group in a full run', () => {
    expect(planStages(ALL, 2)).toEqual([
      { name: 'light', args: ['--project=!heavy'] },
      { name: 'heavy', args: ['--project=heavy', '--maxWorkers=3'] },
    ]);
  });

  it('leaves out heavy and disruptive tests with --quick', () => {
    expect(planStages({ ...ALL, quick: true }, 2)).toEqual([
      { name: 'quick', args: ['--project=shared', '--project=measuring'] },
    ]);
  });

  it('runs only the given files', () => {
    expect(planStages({ ...ALL, filters: ['packages/kit'] }, 2)).toEqual([
      { name: 'selected', args: ['packages/kit'] },
    ]);
  });
});
