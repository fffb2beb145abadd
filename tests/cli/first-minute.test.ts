import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createProgram } from '@footbridge/cli/program';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { startBridge } from '../bridge.ts';
import { bridges, LOCATION } from '../contract/test-bridge.ts';
import { recordedIo, runInProcess } from './run-in-process.ts';

const BIN = join(import.meta.dirname, '../../packages/cli/bin/footbridge');
const TOKEN = 'operator-token-for-tests';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start() {
  const bridge = await startBridge({ OPERATOR_TOKEN: TOKEN });
  cleanup.add(() => bridge.stop());
  const home = await tempDir(cleanup);
  const env = { HOME: home, FOOTBRIDGE_OPERATOR_URL: bridge.operatorUrl, OPERATOR_TOKEN: TOKEN };
  return { bridge, home, env, run: (...args: string[]) => runInProcess(args, { env }) };
}

const parsed = (text: string) => JSON.parse(text) as Record<string, unknown>;

describe('footbridge without a command', () => {
  const next = async (env: Record<string, string>) => parsed((await runInProcess([], { env })).stdout);

  it('says how to start a service or log in to one', async () => {
    const home = await tempDir(cleanup);
    const gone = { HOME: home, FOOTBRIDGE_OPERATOR_URL: 'http://127.0.0.1:1', OPERATOR_TOKEN: TOKEN };
    expect(await next(gone)).toMatchObject({
      state: 'not_running',
      next: expect.stringContaining('npm start'),
    });
    expect(await next({ HOME: home, DATA_DIR: home })).toMatchObject({ state: 'no_token' });
  });

  it('names the first thing that is missing, until messages flow', async () => {
    const { bridge, env, run } = await start();
    expect(await next(env)).toMatchObject({ state: 'no_keys', service: bridge.operatorUrl });
    await run('keys', 'add', '--preset', 'highlevel');
    expect(await next(env)).toMatchObject({ state: 'no_licenses' });
    await run('license', 'create', 'Office');
    expect(await next(env)).toMatchObject({ state: 'no_locations' });
    await run('location', 'assign', LOCATION, 'Office');
    expect(await next(env)).toMatchObject({ state: 'no_macs', sentence: '0 of 1 Macs connected.' });
    expect(await next({ ...env, OPERATOR_TOKEN: 'wrong-wrong-wrong-wrong' })).toMatchObject({
      state: 'token_rejected',
    });
    const created = parsed((await run('token', 'create', 'Agency', '--location', LOCATION)).stdout);
    expect(await next({ ...env, OPERATOR_TOKEN: String(created['token']) })).toMatchObject({
      state: 'limited',
    });
  });

  const use = bridges();
  it('sends the first message, and then shows messages live', async () => {
    const testBridge = await use();
    await testBridge.mac();
    const env = {
      FOOTBRIDGE_OPERATOR_URL: testBridge.bridge.operatorUrl,
      OPERATOR_TOKEN: testBridge.bridge.operatorToken,
    };
    expect(await next(env)).toMatchObject({
      state: 'no_messages',
      sentence: '1 of 1 Macs connected, no message yet.',
    });
    const { answer } = await testBridge.webhook({ messageId: 'm1' });
    await testBridge.journalled((answer as { requestId: string }).requestId, 'accepted');
    expect(await next(env)).toMatchObject({ state: 'working' });
  });

  it('prints the next step and examples on a terminal', async () => {
    const { env } = await start();
    const { code, stdout, stderr } = await runInProcess([], { env, isTTY: true });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^http:\S+ \(FOOTBRIDGE_OPERATOR_URL\): the service is running.*\n\nNext: footbridge keys add/,
    );
    expect(stderr).toContain('footbridge --help');
  });
});

describe('help', () => {
  it.each([
    ['help', 'Usage: footbridge [command]'],
    ['help keys', 'Usage: footbridge keys|key '],
    ['help keys add', 'Usage: footbridge keys add '],
    ['help licence create', 'Usage: footbridge license create '],
    ['licence create --help', 'Usage: footbridge license create '],
  ])('footbridge %s prints it', async (line, head) => {
    const { code, stdout } = await runInProcess(line.split(' '));
    expect([code, stdout.startsWith(head)]).toEqual([0, true]);
  });

  it('lists every command with a description, under a heading', async () => {
    const { stdout } = await runInProcess(['--help']);
    for (const name of ['login', 'tail', 'issues', 'license|licence', 'token'])
      expect(stdout).toMatch(new RegExp(`^  ${name.replace('|', String.raw`\|`)}\\S* +[a-z]`, 'm'));
  });
});

describe('login', () => {
  it('checks the token and saves it for its owner only, and commands use the profile', async () => {
    const { bridge, home } = await start();
    const env = { HOME: home, DATA_DIR: '' };
    const run = (args: string[], input = '') => runInProcess(args, { env, input });
    const refused = await run(['login', '--url', bridge.operatorUrl], 'wrong-token-wrong-token\n');
    expect(refused.code).toBe(4);
    expect(existsSync(join(home, '.config'))).toBe(false);

    const login = await run(['login', 'office', '--url', bridge.operatorUrl], `${TOKEN}\n`);
    expect(parsed(login.stdout)).toMatchObject({ profile: 'office', label: 'Operator', readOnly: false });
    expect(login.stdout + login.stderr).not.toContain(TOKEN);
    const file = join(home, '.config/footbridge/profiles.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await run(['keys', 'list', '--profile', 'office'])).code).toBe(0);
    const named = await runInProcess(['keys', 'list', '-v'], {
      env: { ...env, FOOTBRIDGE_PROFILE: 'office' },
    });
    expect([named.code, named.stderr]).toEqual([
      0,
      `service ${bridge.operatorUrl} (the profile office), token from the profile office\n`,
    ]);
    expect(await run(['keys', 'list', '--profile', 'ofice'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('did you mean office?'),
    });

    writeFileSync(join(home, 'token'), TOKEN);
    await run(['login', '--url', bridge.operatorUrl, '--token-file', join(home, 'token')]);
    expect((await run(['keys', 'list'])).code).toBe(0);
    expect((await run(['profiles'])).stdout.trim().split('\n').map(parsed)).toEqual([
      { profile: 'office', url: bridge.operatorUrl },
      { profile: 'default', url: bridge.operatorUrl },
    ]);
    expect((await run(['logout'])).code).toBe(0);
    expect((await run(['logout'])).code).toBe(3);
    expect(Object.keys(parsed(readFileSync(file, 'utf8')))).toEqual(['office']);
  });

  it('reports a damaged profiles file', async () => {
    const { home, bridge } = await start();
    await runInProcess(['login', '--url', bridge.operatorUrl], { env: { HOME: home }, input: TOKEN });
    writeFileSync(join(home, '.config/footbridge/profiles.json'), '{');
    expect(await runInProcess(['profiles'], { env: { HOME: home } })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('cannot read the profiles'),
    });
  });
});

describe('completion', () => {
  const complete = async (...words: string[]) => {
    const { stdout: script } = await runInProcess(['completion', 'bash']);
    const line = ['footbridge', ...words].map((word) => `'${word}'`).join(' ');
    const test = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length}; _footbridge; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', test], { encoding: 'utf8' }).trim().split('\n');
  };

  it('completes commands, subcommands and options in bash', async () => {
    expect(await complete('lic')).toEqual(['license']);
    expect(await complete('licence', 'cr')).toEqual(['create']);
    expect(await complete('license', 'create', 'Office', '--se')).toEqual(['--seats']);
    expect(await complete('--json', 'keys', 're')).toEqual(['remove', 'rejections']);
  });

  it.each([
    ['zsh', "'keys add') echo '--preset"],
    ['fish', "case 'keys add'\n            printf '%s\\n' --preset"],
  ])('has the same table for %s', async (shell, row) => {
    expect((await runInProcess(['completion', shell])).stdout).toContain(row);
  });
});

it('loads only the commands that are named', async () => {
  const program = await createProgram(recordedIo(), ['--json', 'licence']);
  const loaded = program.commands.filter(
    ({ commands, options, registeredArguments: values }) =>
      commands.length + options.length + values.length > 0,
  );
  expect(loaded.map((command) => command.name())).toEqual(['license']);
});

describe('the program in bin', () => {
  it('runs on the packaged Node and passes arguments and exit codes on', () => {
    expect(execFileSync(BIN, ['--version'], { encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(() => execFileSync(BIN, ['keys', 'no such'], { stdio: 'pipe' })).toThrow(
      /unknown command 'no such'/,
    );
  });

  it('exits with 130 after Ctrl-C', async () => {
    const { env } = await start();
    const child = spawn(BIN, ['tail', '--verbose'], { env: { ...process.env, ...env } });
    const ended = new Promise((resolve) => child.once('close', (code) => resolve(code)));
    // It names the service before it connects.
    await new Promise((resolve) => child.stderr.once('data', resolve));
    child.kill('SIGINT');
    expect(await ended).toBe(130);
  });
});
