/** A part of a package and its import rules. Paths are relative to `src`; a file belongs to the first part that matches it. */
export interface Part {
  readonly name: string;
  readonly files: RegExp;
  /** The other parts of the same package that this part may import. */
  readonly mayImport: readonly string[];
  /** Divides the part into groups by its first capture. Files of different groups must not import each other. */
  readonly separate?: RegExp;
}

/** The parts of the service that all of its layers may import. */
export const FOUNDATION: readonly string[] = [
  'errors',
  'budgets',
  'slots',
  'metrics',
  'recent-cache',
  'batcher',
  'one-per-tick',
  'sodium',
];

const SERVICE: readonly Part[] = [
  { name: 'main', files: /^main\.ts$/, mayImport: ['bridge', 'config', 'errors'] },
  { name: 'bridge', files: /^bridge\//, mayImport: ['*'] },
  { name: 'maintenance', files: /^maintenance\//, mayImport: ['config', 'sql', 'ports', 'errors'] },
  { name: 'config', files: /^config\//, mayImport: ['errors'] },
  { name: 'errors', files: /^errors\.ts$/, mayImport: [] },
  { name: 'budgets', files: /^budgets\.ts$/, mayImport: [] },
  { name: 'slots', files: /^slots\.ts$/, mayImport: ['budgets'] },
  { name: 'metrics', files: /^metrics(-table|-series)?\.ts$/, mayImport: [] },
  { name: 'recent-cache', files: /^recent-cache\.ts$/, mayImport: [] },
  { name: 'batcher', files: /^batcher\.ts$/, mayImport: [] },
  { name: 'one-per-tick', files: /^one-per-tick\.ts$/, mayImport: [] },
  { name: 'sodium', files: /^sodium(-native\.d)?\.ts$/, mayImport: [] },
  { name: 'operator-token', files: /^operator-token\.ts$/, mayImport: ['errors'] },
  { name: 'sql', files: /^sql\//, mayImport: ['errors'] },
  { name: 'redis', files: /^redis\//, mayImport: ['errors'] },
  { name: 'documents', files: /^(openapi|asyncapi)\//, mayImport: [] },
  {
    name: 'edges',
    files: /^edges\//,
    mayImport: ['flows', 'ports', 'config', 'documents', ...FOUNDATION],
    separate: /^edges\/([^/]+)\//,
  },
  {
    name: 'flows',
    files: /^flows\//,
    mayImport: ['ports', ...FOUNDATION],
    separate: /^flows\/([^/]+)\//,
  },
  {
    name: 'engines',
    files:
      /^ports\/[^/]+\/(?:[a-z0-9-]+-)?(?:memory|sql|redis|disk|s3|webhook|slack|teams|smtp)(?:-[a-z-]+)?\.ts$/,
    mayImport: ['ports', 'sql', 'redis', ...FOUNDATION],
    separate: /^ports\/([^/]+)\//,
  },
  { name: 'ports', files: /^ports\//, mayImport: FOUNDATION, separate: /^ports\/([^/]+)\// },
];

const AGENT: readonly Part[] = [
  { name: 'main', files: /^main\.ts$/, mayImport: ['commands', 'config', 'errors'] },
  {
    name: 'commands',
    files: /^commands\//,
    mayImport: ['agent', 'config', 'edges', 'flows', 'install', 'ports', 'errors'],
  },
  { name: 'install', files: /^install\//, mayImport: ['config', 'errors'] },
  {
    name: 'agent',
    files: /^agent\.ts$/,
    mayImport: ['config', 'edges', 'flows', 'ports', 'engines', 'errors'],
  },
  { name: 'config', files: /^config\//, mayImport: ['errors'] },
  { name: 'errors', files: /^errors\.ts$/, mayImport: [] },
  {
    name: 'edges',
    files: /^edges\//,
    mayImport: ['flows', 'ports', 'config', 'errors'],
    // An edge is a folder or a single file.
    separate: /^edges\/([^/.]+)/,
  },
  {
    name: 'flows',
    files: /^flows\//,
    mayImport: ['ports', 'errors'],
    separate: /^flows\/([^/]+)\//,
  },
  {
    name: 'engines',
    files:
      /^ports\/[^/]+\/(?:(?:macos|bluebubbles)\/(?:[a-z-]+\/)?[a-z-]+|(?:[a-z0-9-]+-)?(?:sqlite|simulated|chat-db|macos|bluebubbles)(?:-[a-z-]+)?)\.ts$/,
    mayImport: ['ports', 'errors'],
    separate: /^ports\/([^/]+)\//,
  },
  { name: 'ports', files: /^ports\//, mayImport: ['errors'], separate: /^ports\/([^/]+)\// },
];

/** The packages that are divided into parts. */
export const LAYERS: Readonly<Record<string, readonly Part[]>> = { service: SERVICE, agent: AGENT };

/** Every package, with the packages of ours that it may import. `service`, `agent` and `cli` communicate only over the network. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  runtime: ['protocol'],
  media: ['protocol', 'runtime'],
  service: ['protocol', 'runtime', 'media', 'console', 'site'],
  agent: ['protocol', 'runtime', 'media'],
  kit: ['protocol'],
  'mac-launcher': [],
  cli: ['protocol', 'kit', 'runtime'],
  testkit: ['protocol', 'runtime', 'kit'],
  ui: ['protocol', 'kit'],
  console: ['protocol', 'ui'],
  site: ['ui'],
  demo: ['protocol', 'kit', 'testkit', 'ui'],
};
