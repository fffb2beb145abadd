import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

const LAUNCH = new URL('launch.js', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'footbridge-launch-'));
const entry = join(folder, 'src/program.ts');
const starter = join(folder, 'starter.mjs');
mkdirSync(dirname(entry));
writeFileSync(
  starter,
  `import { launch } from ${JSON.stringify(LAUNCH)};\nawait launch(${JSON.stringify(entry)}, process.argv.slice(2));\n`,
);
afterAll(() => rmSync(folder, { recursive: true }));

const WITHOUT_NPM = {
  ...process.env,
  npm_lifecycle_event: undefined,
  NODE_OPTIONS: undefined,
  NODE_V8_COVERAGE: undefined,
};
const UNDER_NPM = { ...WITHOUT_NPM, npm_lifecycle_event: 'start' };
const PROFILED = { ...WITHOUT_NPM, NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` };

/** Under npm, the program runs in a child process. Otherwise it replaces the launcher. */
const WAYS = [
  ['npm', UNDER_NPM],
  ['no npm', WITHOUT_NPM],
] as const;

function write(program: string): void {
  writeFileSync(entry, `type OnlyInTypeScript = string;\n${program}`);
}

const run = (env: NodeJS.ProcessEnv, ...args: string[]) =>
  spawnSync(process.execPath, [starter, ...args], { encoding: 'utf8', env });

describe.for(WAYS)('launch with %s', ([, env]) => {
  it('passes the arguments on and exits with the code of the program', () => {
    write('const [, , ...args] = process.argv; console.log(args.join()); process.exit(7);');
    expect(run(env, 'a', 'b')).toMatchObject({ stdout: 'a,b\n', stderr: '', status: 7, signal: null });
  });

  it('ends with the signal that ended the program', () => {
    write("process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 60_000);");
    expect(run(env)).toMatchObject({ status: null, signal: 'SIGTERM' });
  });

  it('T56 opens no debugger on SIGUSR1, neither in the launcher nor in the program', () => {
    write(
      "for (const id of [process.pid, process.ppid]) process.kill(id, 'SIGUSR1'); setTimeout(() => {}, 500);",
    );
    // The parent of a program that replaces the launcher, or runs in it, is this process.
    const shell = spawnSync('sh', ['-c', 'trap "" USR1; "$0" "$1"; exit $?', process.execPath, starter], {
      encoding: 'utf8',
      env,
    });
    expect(shell).toMatchObject({ status: 0, stderr: '' });
  });

  it('reports an error of the program and exits with 1', () => {
    write("throw new Error('program failed');");
    expect(run(env)).toMatchObject({ status: 1, stderr: expect.stringContaining('program failed') });
  });
});

it.each([
  ['npm', UNDER_NPM, false],
  ['no npm', WITHOUT_NPM, true],
  ['--cpu-prof', PROFILED, false],
])('with %s, the program replaces the launcher where that is possible', (_name, env, isSame) => {
  write('process.stdout.write(String(process.pid));');
  const { pid, stdout } = run(env);
  expect(stdout).toMatch(/^\d+$/);
  expect(Number(stdout) === pid).toBe(isSame);
});

it('a program gets SIGTERM when the shell of npm has exited', async () => {
  write(`
    process.on('SIGTERM', () => { console.log('ended'); process.exit(); });
    console.log('started');
    setTimeout(() => {}, 60_000);
  `);
  const shell = spawn('sh', ['-c', '"$0" "$1"; true', process.execPath, starter], {
    env: UNDER_NPM,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  for await (const data of shell.stdout) {
    output += String(data);
    if (output === 'started\n') shell.kill('SIGKILL');
  }
  expect(output).toBe('started\nended\n');
});
