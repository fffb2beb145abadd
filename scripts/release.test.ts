import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fetchNode, withNodeFirst } from './other-node.ts';
import { prepareRelease } from './release.ts';
import { sbomFaults } from './release/sbom.ts';

const ROOT = join(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'footbridge-release-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
};
const release = join(scratch, 'release');
let prepared: Promise<readonly string[]> | undefined;
/** The archives take a minute, so all tests share them. */
const prepareOnce = () => (prepared ??= prepareRelease(release, '2026-01-31', REPOSITORY));
const REPOSITORY = { type: 'git', url: 'git+https://github.com/owner/footbridge.git' } as const;

interface Installed {
  readonly folder: string;
  readonly dependencies: readonly string[];
  readonly bin: string;
}

/** Installs an archive of the release in an empty folder, without the network. */
async function install(name: string): Promise<Installed> {
  await prepareOnce();
  const home = join(scratch, `${name}-installed`);
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), '{ "private": true }\n');
  const archive = join(release, `${name}-${VERSION}.tgz`);
  const ended = spawnSync('npm', ['install', '--offline', '--omit=optional', '--no-audit', archive], {
    cwd: home,
    env: withNodeFirst(process.execPath),
    encoding: 'utf8',
  });
  expect(ended, ended.stderr).toMatchObject({ status: 0 });
  const folder = join(home, 'node_modules', name);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const [command = ''] = Object.keys(manifest.bin);
  return {
    folder,
    dependencies: Object.keys(manifest.dependencies),
    bin: join(folder, manifest.bin[command]),
  };
}

const installs = new Map<string, Promise<Installed>>();
const installOnce = (name: string): Promise<Installed> => {
  const made = installs.get(name) ?? install(name);
  installs.set(name, made);
  return made;
};

describe('npm run pack', () => {
  it('rejects a folder with other files and leaves it unchanged', () => {
    const folder = join(scratch, 'precious');
    mkdirSync(folder);
    writeFileSync(join(folder, 'precious.txt'), 'mine');
    const script = join(import.meta.dirname, 'pack-program.ts');
    const refused = spawnSync(process.execPath, [script, 'agent', folder], { encoding: 'utf8' });
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('did not write') });
    expect(readFileSync(join(folder, 'precious.txt'), 'utf8')).toBe('mine');
  });
});

describe('npm run release', { timeout: 900_000 }, () => {
  it('writes archives that match the list, checksums, bills of materials, notices and release notes', async () => {
    const lines = await prepareOnce();
    expect(
      readdirSync(release)
        .filter((name) => !name.startsWith('.'))
        .toSorted(),
    ).toEqual(
      [
        'SHA256SUMS',
        'THIRD-PARTY-NOTICES',
        `footbridge-${VERSION}.cdx.json`,
        `footbridge-${VERSION}.tgz`,
        `footbridge-agent-${VERSION}.cdx.json`,
        `footbridge-agent-${VERSION}.tgz`,
        `footbridge-kit-${VERSION}.tgz`,
        `kit-${VERSION}.cdx.json`,
        'release-notes.md',
      ].toSorted(),
    );
    const sums = readFileSync(join(release, 'SHA256SUMS'), 'utf8').trimEnd().split('\n');
    expect(sums).toHaveLength(7);
    for (const line of sums) {
      const [, sum, name = ''] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
      expect(
        createHash('sha256')
          .update(readFileSync(join(release, name)))
          .digest('hex'),
      ).toBe(sum);
    }
    const sbom: { components: { name: string }[] } = JSON.parse(
      readFileSync(join(release, `footbridge-${VERSION}.cdx.json`), 'utf8'),
    );
    expect(sbomFaults(sbom)).toEqual([]);
    expect(sbom.components.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['fastify', 'pg', 'kysely']),
    );
    expect(lines.join('\n')).toContain(`## ${VERSION} — 2026-01-31`);
    expect(lines.join('\n')).toContain(`git tag --sign v${VERSION}`);
  });

  it('without --dry-run, builds nothing and names the workflow that publishes', () => {
    const script = join(import.meta.dirname, 'release.ts');
    const ended = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
      encoding: 'utf8',
    });
    expect(ended).toMatchObject({ status: 2, stderr: expect.stringContaining('--dry-run') });
  });
});

const nodes = ['22', '24', '26'].map((version) => ({ version, node: nodeOf(version) }));

function nodeOf(version: string): string {
  const fetched = fetchNode(join(ROOT, '.cache', `node-${version}`), version);
  if ('problem' in fetched) throw new Error(fetched.problem);
  return fetched.node;
}

describe.each([
  ['footbridge-agent', ['@parseaple/typedstream', 'commander', 'pino', 'undici', 'ws']],
  [
    'footbridge',
    [
      '@audio/decode-amr',
      '@opentelemetry/api',
      '@opentelemetry/exporter-metrics-otlp-http',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-metrics',
      '@opentelemetry/sdk-trace',
      '@parseaple/typedstream',
      '@prometheus-io/client',
      '@redis/client',
      'commander',
      'fastify',
      'gifenc',
      'kysely',
      'libphonenumber-js',
      'nodemailer',
      'opus-decoder',
      'pg',
      'pg-copy-streams',
      'pino',
      's3mini',
      'sodium-native',
      'undici',
      'wasm-media-encoders',
      'ws',
    ],
  ],
])('the packed %s', (name, needed) => {
  let installed: Installed;
  beforeAll(async () => {
    installed = await installOnce(name);
  });

  it('names the repository for which its provenance is signed', () => {
    const manifest = JSON.parse(readFileSync(join(installed.folder, 'package.json'), 'utf8'));
    expect(manifest.repository).toEqual(REPOSITORY);
  });

  it('is installed without a registry, with the dependencies that it imports and no others', () => {
    expect(installed.dependencies.toSorted()).toEqual(needed);
    const sources = globSync('*/src/**/*.ts', { cwd: installed.folder }).filter(
      (file) => !file.endsWith('.d.ts'),
    );
    expect(sources).toEqual([]);
  });

  it.each(nodes)('runs on Node $version outside the repository', ({ node }) => {
    const env = { ...withNodeFirst(node), HOME: scratch };
    const run = (...args: string[]) =>
      spawnSync(node, [installed.bin, ...args], { cwd: scratch, env, encoding: 'utf8' });
    expect(run('--version')).toMatchObject({ stdout: '0.1.0\n', stderr: '', status: 0 });
    expect(run('no-such-command').status).toBe(2);
  });
});

/** Starts a program, waits for a line of its output, and ends it. */
async function startUntil(line: string, node: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const program = spawn(node, args, { cwd: scratch, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(program, 'exit');
  let seen = false;
  for await (const text of createInterface(program.stdout)) {
    if (!text.includes(line)) continue;
    seen = true;
    program.kill('SIGTERM');
  }
  expect({ seen, exit: await exited }).toEqual({ seen: true, exit: [0, null] });
}

describe('the packed footbridge', () => {
  it.each(nodes)('starts the service on Node $version', async ({ node }) => {
    const installed = await installOnce('footbridge');
    const env = {
      ...withNodeFirst(node),
      DATA_DIR: mkdtempSync(join(scratch, 'data-')),
      // Vitest sets it to another value.
      BASE_URL: 'http://127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
    };
    await startUntil('service.ready', node, [installed.bin, 'start'], env);
  });

  it.each(nodes)(
    'runs the demo with its page on Node $version, and writes nothing beside the package',
    async ({ node }) => {
      const installed = await installOnce('footbridge');
      const args = [installed.bin, 'demo', '--port', '0', '--json'];
      await startUntil('"ready":', node, args, withNodeFirst(node));
      expect(readdirSync(join(installed.folder, '..'))).toEqual(['.bin', '.package-lock.json', 'footbridge']);
    },
  );

  it('takes less than 60 MB', async () => {
    const { folder } = await installOnce('footbridge');
    const files = globSync('**/*', { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile());
    const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
    expect(bytes).toBeLessThan(60e6);
  });
});

describe('the packed agent', () => {
  it.each(nodes)('starts on Node $version', async ({ node }) => {
    const installed = await installOnce('footbridge-agent');
    const env = { ...withNodeFirst(node), HOME: scratch };
    const dataDir = mkdtempSync(join(scratch, 'data-'));
    const settings = ['--simulate', '--url', 'http://127.0.0.1:1', '--location', 'L', '--control-port', '0'];
    const args = [installed.bin, 'run', ...settings, '--license', 'KEY', '--data-dir', dataDir];
    await startUntil('link.not_connected', node, args, env);
  });
});
