import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const SCRIPT = join(import.meta.dirname, 'pack-kit.ts');

function run(command: string, args: readonly string[], cwd: string) {
  const { PATH, HOME } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: { PATH, HOME, npm_config_cache: join(cwd, '.npm'), npm_config_update_notifier: 'false' },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}
const packKit = (cwd: string, ...args: string[]) => run(process.execPath, [SCRIPT, ...args], cwd);

describe('npm run kit', () => {
  it('writes an archive that npm installs offline and that both kinds of modules can import', async () => {
    const folder = await tempDir(cleanup);
    const packed = packKit(folder, 'kit');
    expect(packed).toMatchObject({ status: 0, stderr: '' });
    const archive = join('kit', 'footbridge-kit-0.1.0.tgz');
    expect(packed.stdout).toContain(archive);

    const consumer = join(folder, 'consumer');
    mkdirSync(consumer);
    const installed = run(
      'npm',
      ['install', '--offline', '--no-audit', '--no-fund', join(folder, archive)],
      consumer,
    );
    expect(installed).toMatchObject({ status: 0 });
    const kit = join(consumer, 'node_modules/@footbridge/kit');
    expect(readdirSync(kit)).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'kit.d.ts', 'kit.js', 'package.json', 'vectors']),
    );
    expect(readdirSync(kit).filter((name) => name.startsWith('.') || name.endsWith('.tgz'))).toEqual([]);

    const use = 'console.log(stripFooter(makeFooter({ chat_id: 1 }, { text: "Hi" })))';
    writeFileSync(
      join(consumer, 'esm.mjs'),
      `import { makeFooter, stripFooter } from '@footbridge/kit'; ${use}`,
    );
    writeFileSync(
      join(consumer, 'cjs.cjs'),
      `import('@footbridge/kit').then(({ makeFooter, stripFooter }) => ${use})`,
    );
    for (const file of ['esm.mjs', 'cjs.cjs'])
      expect(run(process.execPath, [file], consumer)).toEqual({ status: 0, stdout: 'Hi\n', stderr: '' });
    const again = packKit(folder, 'kit');
    expect(again).toMatchObject({ status: 0, stderr: '' });
  });

  it('rejects a folder with other files and leaves it unchanged', async () => {
    const folder = await tempDir(cleanup);
    writeFileSync(join(folder, 'precious.txt'), 'mine');
    const { status, stderr } = packKit(folder, '.');
    expect(status).toBe(1);
    expect(stderr).toMatch(/^.* has files that this script did not write\..*\n$/);
    expect(readFileSync(join(folder, 'precious.txt'), 'utf8')).toBe('mine');
  });

  it('prints its help, and rejects an unknown option', async () => {
    const folder = await tempDir(cleanup);
    expect(packKit(folder, '--help')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^Usage: npm run kit/),
    });
    expect(packKit(folder, '--helf')).toMatchObject({ status: 2, stderr: expect.stringContaining('--help') });
    expect(packKit(folder, 'one', 'two')).toMatchObject({ status: 2 });
    expect(existsSync(join(folder, '--helf'))).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });
});
