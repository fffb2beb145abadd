import { availableParallelism } from 'node:os';

import { configDefaults, defineConfig } from 'vitest/config';

/** Several nodes, processes, servers or a browser each: few at a time, so that they do not starve each other of their deadlines. */
const HEAVY = [
  'tests/nodes/**/*.test.ts',
  'tests/crashes/*.test.ts',
  'tests/siege/fuzz.test.ts',
  'tests/mac/*.test.ts',
  'packages/demo/src/headless.test.ts',
  'packages/demo/src/page*.test.ts',
  'tests/console/*.test.ts',
  'tests/docs/*.test.ts',
  'tests/observe/prometheus.test.ts',
];

/** They kill processes, open a browser, fuzz decoders, or compare the memory or the CPU time of their own process. */
const ALONE = [
  'packages/media/src/convert/hostile.test.ts',
  'packages/media/src/converter.test.ts',
  'packages/service/src/relay/assets/assets-in-browser.test.ts',
  'packages/service/src/relay/assets/assets-s3.test.ts',
  'packages/service/src/relay/crm/failed-response.test.ts',
  'packages/service/src/relay/status/report-statuses.test.ts',
  'packages/testkit/src/servers/browser-check.test.ts',
  'packages/testkit/src/servers/chromium.test.ts',
  'scripts/release.test.ts',
  'tests/agent/*-run.test.ts',
  'tests/agent/crash-*.test.ts',
  'tests/contract/macs-{crash,liveness}.test.ts',
  'tests/deploy/image.test.ts',
  'tests/kit/browser.test.ts',
  'tests/siege/memory.test.ts',
];

/** Beside the source, and slow for their size: they start programs or servers, or wait for deadlines. A quick run leaves them out. */
const SLOW = [
  'packages/agent/src/ports/messages/**/*.test.ts',
  'packages/kit/src/readme.test.ts',
  'packages/service/src/**/*redis*.test.ts',
  'packages/service/src/features/issues/send-alerts.test.ts',
  'packages/service/src/main.test.ts',
  'packages/service/src/platform/http/hardened-server.test.ts',
  'packages/service/src/platform/redis/*.test.ts',
  'packages/service/src/relay/inbound/{deliver-inbound*,lost-messages}.test.ts',
  'packages/testkit/src/{bluebubbles,fault-proxy*,macos}.test.ts',
  'packages/testkit/src/servers/*.test.ts',
  'scripts/architecture/removal.test.ts',
];

const project = (name: string, include: string[], exclude: string[], more: object = {}) => ({
  extends: true as const,
  test: { name, include, exclude: [...configDefaults.exclude, ...exclude], ...more },
});

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
    coverage: {
      reporter: ['text', 'html'],
      reportsDirectory: 'artefacts/coverage',
      include: ['packages/*/src/**/*.{ts,tsx}'],
      exclude: ['**/*.{test,fixture,contract}.ts', 'packages/testkit/**'],
    },
    projects: [
      // With a process per file, a third of the CPU went into starting and importing.
      project('unit', ['{packages,scripts}/**/*.test.ts'], [...HEAVY, ...ALONE, ...SLOW], { isolate: false }),
      project('programs', ['tests/**/*.test.ts', ...SLOW], [...HEAVY, ...ALONE], { isolate: false }),
      project('alone', ALONE, HEAVY),
      // After the others, which leave no processor idle.
      project('heavy', HEAVY, [], { sequence: { groupOrder: 1 } }),
    ],
  },
});
