import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { fetchNode, withNodeFirst } from './other-node.ts';
import { packProgram } from './pack-program.ts';

const ROOT = join(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'footbridge-pack-'));
afterAll(() => rmSync(scratch, { recursive: true }));

interface Installed {
  readonly folder: string;
  readonly dependencies: readonly string[];
  readonly bin: string;
}

/** Makes an archive and installs it in an empty folder, without the network. */
async function install(name: string): Promise<Installed> {
  const dist = join(scratch, name);
  await packProgram(name, dist);
  const home = join(scratch, `${name}-installed`);
  mkdirSync(home);
  const npm = (...args: string[]) => {
    const ended = spawnSync('npm', args, {
      cwd: home,
      env: withNodeFirst(process.execPath),
      encoding: 'utf8',
    });
    expect(ended, ended.stderr).toMatchObject({ status: 0 });
    return ended.stdout;
  };
  const archive = npm('pack', dist, '--pack-destination', scratch).trim().split('\n').at(-1) ?? '';
  writeFileSync(join(home, 'package.json'), '{ "private": true }\n');
  npm('install', '--offline', '--omit=optional', '--no-audit', join(scratch, archive));
  const manifest = JSON.parse(readFileSync(join(dist, 'package.json'), 'utf8'));
  const [command = ''] = Object.keys(manifest.bin);
  const folder = join(home, 'node_modules', manifest.name);
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
    const refused = spawnSync(process.execPath, [script, 'cli', folder], { encoding: 'utf8' });
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('did not write') });
    expect(readFileSync(join(folder, 'precious.txt'), 'utf8')).toBe('mine');
  });
});

const nodes = ['22', '24', '26'].map((version) => ({ version, node: nodeOf(version) }));

function nodeOf(version: string): string {
  const fetched = fetchNode(join(ROOT, '.cache', `node-${version}`), version);
  if ('problem' in fetched) throw new Error(fetched.problem);
  return fetched.node;
}

describe.each([
  ['agent', ['@parseaple/typedstream', 'bplist-parser', 'commander', 'fast-png', 'pino', 'undici', 'ws']],
  ['cli', ['commander']],
])('the packed %s', (name, needed) => {
  let installed: Installed;
  beforeAll(async () => {
    installed = await installOnce(name);
  });

  it('is installed without a registry, with the dependencies that it imports and no others', () => {
    expect(installed.dependencies.toSorted()).toEqual(needed);
    expect(globSync('{agent,cli,kit,protocol,runtime}/**/*.ts', { cwd: installed.folder })).toEqual([]);
  });

  it.each(nodes)('runs on Node $version outside the repository', ({ node }) => {
    const env = { ...withNodeFirst(node), HOME: scratch };
    const run = (...args: string[]) =>
      spawnSync(node, [installed.bin, ...args], { cwd: scratch, env, encoding: 'utf8' });
    expect(run('--version')).toMatchObject({ stdout: '0.1.0\n', stderr: '', status: 0 });
    expect(run('no-such-command').status).toBe(2);
  });
});

describe('the packed agent', () => {
  it.each(nodes)('starts on Node $version', async ({ node }) => {
    const installed = await installOnce('agent');
    const env = { ...withNodeFirst(node), HOME: scratch };
    const dataDir = mkdtempSync(join(scratch, 'data-'));
    const settings = ['--simulate', '--url', 'http://127.0.0.1:1', '--location', 'L', '--control-port', '0'];
    const args = [installed.bin, 'run', ...settings, '--license', 'KEY', '--data-dir', dataDir];
    const agent = spawn(node, args, { cwd: scratch, env, stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(agent, 'exit');
    for await (const line of createInterface(agent.stdout))
      if (line.includes('link.not_connected')) agent.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});
