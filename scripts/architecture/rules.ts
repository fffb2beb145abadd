/** A part of a package and its import rules. Paths are relative to `src`; a file belongs to the first part that matches it. */
export interface Part {
  readonly name: string;
  readonly files: RegExp;
  /** The other parts of the same package that this part may import. */
  readonly mayImport: readonly string[];
  /** Divides the part into groups by its first capture. Files of different groups must not import each other. */
  readonly separate?: RegExp;
}

/** The rooms of the relay, in their line: a room imports only those to its left. What it calls to its right is an interface that it declares. */
export const ROOMS: readonly string[] = [
  'people',
  'journal',
  'keys',
  'crm',
  'switchboard',
  'accounts',
  'assets',
  'status',
  'inbound',
  'macs',
  'webhook',
];
const room = (name: string): string => `relay/${name}`;

const SERVICE: readonly Part[] = [
  { name: 'main', files: /^main\.ts$/, mayImport: ['compose', 'config', 'platform'] },
  { name: 'compose', files: /^compose\.ts$/, mayImport: ['*'] },
  { name: 'config', files: /^config\.ts$/, mayImport: ['platform', ...ROOMS.map(room), 'features'] },
  { name: 'platform', files: /^platform\//, mayImport: [] },
  ...ROOMS.map((name, index) => ({
    name: room(name),
    files: new RegExp(`^relay/${name}/`),
    mayImport: ['platform', ...ROOMS.slice(0, index).map(room)],
  })),
  { name: 'relay', files: /^relay\/relay\.ts$/, mayImport: ['platform', ...ROOMS.map(room)] },
  {
    name: 'features',
    files: /^features\//,
    mayImport: ['platform', 'relay', ...ROOMS.map(room)],
    separate: /^features\/([^/]+)\//,
  },
];

/** What stands below the layers of the agent: `open`, the edges and the flows may import all of it. */
export const AGENT_BASE: readonly string[] = ['journal', 'suspects', 'ports', 'outcome', 'errors'];

const AGENT: readonly Part[] = [
  { name: 'main', files: /^main\.ts$/, mayImport: ['commands', 'config', 'errors'] },
  {
    name: 'commands',
    files: /^commands\//,
    mayImport: ['agent', 'open', 'config', 'edges', 'flows', 'install', ...AGENT_BASE],
  },
  { name: 'install', files: /^install\//, mayImport: ['config', 'errors'] },
  {
    name: 'agent',
    files: /^agent\.ts$/,
    mayImport: ['open', 'config', 'edges', 'flows', ...AGENT_BASE],
  },
  { name: 'open', files: /^open\//, mayImport: ['config', 'edges', 'engines', 'sqlite', ...AGENT_BASE] },
  { name: 'config', files: /^config\//, mayImport: ['errors'] },
  { name: 'errors', files: /^errors\.ts$/, mayImport: [] },
  { name: 'outcome', files: /^outcome\.ts$/, mayImport: [] },
  {
    name: 'edges',
    files: /^edges\//,
    mayImport: ['flows', 'config', ...AGENT_BASE],
    // An edge is a folder or a single file.
    separate: /^edges\/([^/.]+)/,
  },
  { name: 'flows', files: /^flows\//, mayImport: AGENT_BASE, separate: /^flows\/([^/]+)\// },
  {
    name: 'engines',
    files:
      /^ports\/[^/]+\/(?:(?:macos|bluebubbles)\/(?:[a-z-]+\/)?[a-z-]+|(?:[a-z]+-)?(?:simulated|chat-db|bluebubbles)(?:-[a-z-]+)?)\.ts$/,
    mayImport: ['ports', 'outcome', 'errors'],
    separate: /^ports\/([^/]+)\//,
  },
  {
    name: 'ports',
    files: /^ports\//,
    mayImport: ['outcome', 'errors'],
    separate: /^ports\/([^/]+)\//,
  },
  { name: 'sqlite', files: /^journal\/(?:journal-)?sqlite/, mayImport: ['journal', 'outcome', 'errors'] },
  { name: 'journal', files: /^journal\//, mayImport: ['outcome'] },
  { name: 'suspects', files: /^suspects\//, mayImport: [] },
];

/** Packages and modules of Node that do I/O. Only files that are named for their engine import them: `grants-sql.ts`. */
export const ENGINES = {
  packages: /^(?:fastify|ws|undici|kysely|pg|@redis\/client|node:fs|node:fs\/promises)$/,
  names: /(?:^|-)(?:routes|http|socket|sql|redis|disk|s3|spool)(?=[-.])/,
  in: /^(?:relay|features)\//,
} as const;

/** The packages that are divided into parts. */
export const LAYERS: Readonly<Record<string, readonly Part[]>> = { service: SERVICE, agent: AGENT };

/**
 * Every package, with the packages of ours that it may import: `service` is all of a package, `service/platform` one part of it.
 * `service`, `agent` and `cli` communicate only over the network.
 */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  runtime: ['protocol'],
  media: ['protocol', 'runtime'],
  service: ['protocol', 'runtime', 'media', 'console', 'site'],
  maintenance: ['protocol', 'runtime', 'media', 'service/config', 'service/platform', 'service/relay/keys'],
  agent: ['protocol', 'runtime', 'media', 'simulator'],
  simulator: ['protocol', 'runtime'],
  kit: ['protocol'],
  'mac-launcher': [],
  conformance: ['protocol', 'runtime', 'kit'],
  cli: ['protocol', 'kit', 'runtime', 'conformance'],
  testkit: ['protocol', 'runtime', 'kit', 'simulator'],
  ui: ['protocol', 'kit'],
  console: ['protocol', 'ui'],
  site: ['ui'],
  demo: ['protocol', 'kit', 'testkit', 'ui'],
};
