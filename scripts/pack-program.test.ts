import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { packProgram } from './pack-program.ts';

const ROOT = join(import.meta.dirname, '..');
const installed = mkdtempSync(join(tmpdir(), 'footbridge-pack-'));
afterAll(() => rmSync(installed, { recursive: true }));

/** Puts the packed program where npm would, with its dependencies beside it. */
async function install(name: string): Promise<{ folder: string; bin: string; dependencies: string[] }> {
  const folder = join(installed, 'node_modules/@footbridge', name);
  await packProgram(name, folder);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const dependencies = Object.keys(manifest.dependencies);
  for (const dependency of dependencies) {
    const link = join(installed, 'node_modules', dependency);
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(join(ROOT, 'node_modules', dependency), link);
  }
  const [path] = Object.values<string>(manifest.bin);
  return { folder, bin: join(folder, path ?? ''), dependencies };
}

describe('npm run pack', () => {
  it('rejects a folder with other files and leaves it unchanged', () => {
    const folder = join(installed, 'precious');
    mkdirSync(folder);
    writeFileSync(join(folder, 'precious.txt'), 'mine');
    const script = join(import.meta.dirname, 'pack-program.ts');
    const refused = spawnSync(process.execPath, [script, 'cli', folder], { encoding: 'utf8' });
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('did not write') });
    expect(readFileSync(join(folder, 'precious.txt'), 'utf8')).toBe('mine');
  });
});

describe.each([
  ['agent', ['@parseaple/typedstream', 'bplist-parser', 'commander', 'fast-png', 'pino', 'undici', 'ws']],
  ['cli', ['commander']],
])('the packed %s', (name, needed) => {
  it('runs outside the repository, with the dependencies that it imports and no others', async () => {
    const { folder, bin, dependencies } = await install(name);
    expect(dependencies.toSorted()).toEqual(needed);
    const env = { PATH: process.env['PATH'], HOME: installed };
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [bin, ...args], { cwd: installed, env, encoding: 'utf8' });
    expect(run('--version')).toMatchObject({ stdout: '0.1.0\n', stderr: '', status: 0 });
    expect(run('no-such-command').status).toBe(2);
    expect(globSync('**/*.ts', { cwd: folder })).toEqual([]);
  });
});
