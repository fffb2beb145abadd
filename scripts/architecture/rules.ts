/** Who may import whom. Paths are relative to a package's `src`; the first pattern that matches a file names its part. */
export interface Part {
  readonly name: string;
  readonly files: RegExp;
  /** Parts of the same package this part may import, besides its own folder. */
  readonly mayImport: readonly string[];
  /** Files of different groups in this part must not import each other; the group is the first match of the expression. */
  readonly separate?: RegExp;
}

const FOUNDATION = [
  'errors',
  'log',
  'clock',
  'lifecycle',
  'failpoint',
  'metrics',
  'recent-cache',
  'serial-by-key',
  'sodium',
];

/** The service and the agent share the three words: edges, flows, ports. */
export const SERVICE: readonly Part[] = [
  { name: 'main', files: /^main\.ts$/, mayImport: ['bridge', 'config', 'log', 'errors'] },
  { name: 'bridge', files: /^bridge(-[a-z]+)*\.ts$/, mayImport: ['*'] },
  { name: 'config', files: /^config\//, mayImport: ['errors'] },
  { name: 'errors', files: /^errors\.ts$/, mayImport: [] },
  { name: 'log', files: /^log\.ts$/, mayImport: [] },
  { name: 'clock', files: /^((fake|skipping)-)?clock\.ts$/, mayImport: [] },
  { name: 'lifecycle', files: /^lifecycle\.ts$/, mayImport: [] },
  { name: 'failpoint', files: /^failpoint\.ts$/, mayImport: [] },
  { name: 'metrics', files: /^(metrics|tallies)\.ts$/, mayImport: ['metrics'] },
  { name: 'recent-cache', files: /^recent-cache\.ts$/, mayImport: [] },
  { name: 'serial-by-key', files: /^serial-by-key\.ts$/, mayImport: [] },
  { name: 'sodium', files: /^sodium(-native\.d)?\.ts$/, mayImport: [] },
  { name: 'operator-token', files: /^operator-token\.ts$/, mayImport: ['errors'] },
  { name: 'sql', files: /^sql\//, mayImport: ['errors'] },
  { name: 'redis', files: /^redis\//, mayImport: ['errors', 'log'] },
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
    files: /^ports\/[^/]+\/(?:[a-z0-9-]+-)?(?:memory|sql|redis|disk|s3)(?:-[a-z-]+)?\.ts$/,
    mayImport: ['ports', 'sql', 'redis', ...FOUNDATION],
    separate: /^ports\/([^/]+)\//,
  },
  { name: 'ports', files: /^ports\//, mayImport: FOUNDATION, separate: /^ports\/([^/]+)\// },
];

/** Packages of ours that a package may import. `service`, `agent` and `cli` never meet but over the wire. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  media: ['protocol'],
  service: ['protocol', 'media'],
  agent: ['protocol'],
  kit: ['protocol'],
  cli: ['protocol', 'kit'],
  testkit: ['protocol', 'kit'],
  demo: ['protocol', 'kit', 'testkit'],
};
