import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/**/*.test.ts', 'scripts/**/*.test.ts', 'tests/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // Real processes, sockets and clocks on a machine that others use too: what fails twice more is broken.
    retry: process.env['CI'] === undefined ? 0 : 2,
  },
});
