import { availableParallelism } from 'node:os';

import { configDefaults, defineConfig } from 'vitest/config';

import { LongTestsFirst } from './scripts/long-tests-first.ts';
import { ALL_TESTS, GROUPS } from './scripts/test-groups.ts';

export default defineConfig({
  test: {
    globalSetup: 'tests/global-setup.ts',
    pool: 'forks',
    // Most of the time the tests wait: for sockets, processes and deadlines.
    maxWorkers: 2 * availableParallelism(),
    // Far longer than any test takes, even on a busy machine: only a test that hangs reaches it.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    retry: 0,
    sequence: { sequencer: LongTestsFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: ALL_TESTS,
          exclude: [...configDefaults.exclude, ...Object.values(GROUPS).flat()],
          // With a process per file, a third of the CPU went into starting and importing.
          isolate: false,
        },
      },
      ...Object.entries(GROUPS).map(([name, include]) => ({
        extends: true as const,
        test: { name, include: [...include] },
      })),
    ],
  },
});
