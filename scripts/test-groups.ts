/** Every test file, and the groups that are treated differently; the others share processes. */
export const ALL_TESTS = ['packages/**/*.test.ts', 'scripts/**/*.test.ts', 'tests/**/*.test.ts'];

export const GROUPS = {
  /** Several nodes, processes, servers or a browser each: few at a time, so that they do not starve each other of their deadlines. */
  heavy: [
    'tests/nodes/**/*.test.ts',
    'tests/crashes/*.test.ts',
    'tests/siege/fuzz.test.ts',
    'tests/mac/*.test.ts',
    'packages/demo/src/headless.test.ts',
    'packages/demo/src/page*.test.ts',
    'tests/console/*.test.ts',
    'tests/docs/*.test.ts',
    'tests/observe/prometheus.test.ts',
  ],
  /** Kill processes, open a browser or fuzz the decoders: left out of a quick run. */
  disruptive: [
    'packages/media/src/convert/hostile.test.ts',
    'tests/agent/bluebubbles-run.test.ts',
    'tests/agent/crash-*.test.ts',
    'tests/agent/inbound-run.test.ts',
    'packages/service/src/relay/assets/assets-in-browser.test.ts',
    'packages/testkit/src/servers/chromium.test.ts',
    'packages/testkit/src/servers/browser-check.test.ts',
    'tests/contract/macs-crash.test.ts',
    'tests/kit/browser.test.ts',
    'scripts/release.test.ts',
    'tests/deploy/image.test.ts',
  ],
  /** Compare the memory or the CPU time of their own process: they must have it to themselves. */
  measuring: [
    'packages/media/src/converter.test.ts',
    'packages/service/src/relay/crm/failed-response.test.ts',
    'packages/service/src/relay/status/report-statuses.test.ts',
    'packages/service/src/relay/assets/assets-s3.test.ts',
    'tests/siege/memory.test.ts',
    'tests/contract/macs-liveness.test.ts',
  ],
} as const;

/** Files that take long for their size. They run first: at the end of a stage, the other workers would be idle until they finish. */
export const LONG: readonly string[] = [
  'packages/agent/src/ports/messages/macos/accessibility/screen-programs.test.ts',
  'packages/agent/src/ports/messages/schema-changes.test.ts',
  'tests/agent/bad-stores.test.ts',
  'tests/agent/command.test.ts',
  'tests/agent/privacy.test.ts',
  'tests/agent/whole-chain.test.ts',
  'packages/demo/src/headless.test.ts',
  'packages/demo/src/page.test.ts',
  'tests/crashes/inbound-crashes.test.ts',
  'tests/crashes/lost-responses.test.ts',
  'tests/crashes/token-crashes.test.ts',
  'tests/docs/pages.test.ts',
  'tests/maintenance/bad-backups.test.ts',
  'tests/nodes/app-events.test.ts',
  'tests/nodes/campaign.test.ts',
  'tests/nodes/dependencies.test.ts',
  'tests/nodes/failover.test.ts',
  'tests/nodes/uninstall.test.ts',
];
