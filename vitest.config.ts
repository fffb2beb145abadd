import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/**/*.test.ts', 'scripts/**/*.test.ts', 'tests/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 15_000,
    hookTimeout: 60_000,
  },
});
