import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

const LAUNCH = new URL('launch.js', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'footbridge-launch-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Under npm the program runs in a child process. Otherwise it replaces the launcher. */
const WAYS = [
  ['under npm', { ...process.env, npm_lifecycle_event: 'start' }],
  ['without npm', { ...process.env, npm_lifecycle_event: undefined }],
] as const;

function launched(env: NodeJS.ProcessEnv, program: string, ...args: string[]) {
  const entry = join(folder, 'program.ts');
  writeFileSync(entry, program);
  const starter = join(folder, 'starter.mjs');
  writeFileSync(
    starter,
    `import { launch } from ${JSON.stringify(LAUNCH)};\nlaunch(${JSON.stringify(entry)}, process.argv.slice(2));\n`,
  );
  return spawnSync(process.execPath, [starter, ...args], { encoding: 'utf8', env });
}

describe.for(WAYS)('launch %s', ([, env]) => {
  it('runs TypeScript with the arguments and exits with its code', () => {
    const program =
      'const args: string[] = process.argv.slice(2); console.log(args.join()); process.exit(7);';
    expect(launched(env, program, 'a', 'b')).toMatchObject({
      stdout: 'a,b\n',
      stderr: '',
      status: 7,
      signal: null,
    });
  });

  it('ends with the signal that ended the program', () => {
    const program = "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 60_000);";
    expect(launched(env, program)).toMatchObject({ status: null, signal: 'SIGTERM' });
  });
});

it('replaces its own process, except under npm, where the launcher must notice that npm has ended', () => {
  const program = 'process.stdout.write(String(process.ppid));';
  const [underNpm, alone] = WAYS.map(([, env]) => launched(env, program).stdout);
  expect(alone).toBe(String(process.pid));
  expect(underNpm).not.toBe(String(process.pid));
});

it('does not replace its own process under --cpu-prof', () => {
  const env = { ...WAYS[1][1], NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` };
  const { stdout } = launched(env, 'process.stdout.write(String(process.ppid));');
  expect(stdout).toMatch(/^\d+$/);
  expect(stdout).not.toBe(String(process.pid));
});
