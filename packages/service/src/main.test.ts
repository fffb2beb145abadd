import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const MAIN = join(import.meta.dirname, 'main.ts');
const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

/** Runs the program in an empty folder. It is killed if it starts instead of exiting. */
async function run(...args: string[]) {
  const cwd = await tempDir(cleanup);
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', MAIN, ...args],
    {
      cwd,
      env: { PATH, NODE_COMPILE_CACHE, PORT: '0', ADMIN_PORT: '0', HOST: '127.0.0.1' },
      encoding: 'utf8',
      timeout: 60_000,
    },
  );
  return { status, stdout, stderr, files: readdirSync(cwd) };
}

describe('the arguments of the service', () => {
  it.each(['--help', '-h'])('%s prints the help and does not start the service', async (flag) => {
    const { status, stdout, stderr, files } = await run(flag);
    expect({ status, stderr, files }).toEqual({ status: 0, stderr: '', files: [] });
    expect(stdout).toMatch(/^Usage: npm start/);
  });

  it('--version prints the version', async () => {
    expect(await run('--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '', files: [] });
  });

  it.each([[['--port', '80']], [['--help', '--por']], [['start']]])(
    '%j is rejected with one line and exit code 2',
    async (args) => {
      const { status, stdout, stderr, files } = await run(...args);
      expect({ status, stdout, files }).toEqual({ status: 2, stdout: '', files: [] });
      expect(stderr).toMatch(/^footbridge: unknown argument (--port|--por|start);.*--help\n$/);
    },
  );
});
