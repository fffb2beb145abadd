import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createProgram } from '@footbridge/cli/program';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { startBridge } from '../bridge.ts';
import { jsonLines, recordedIo, runInProcess } from './run-in-process.ts';

const TOKEN = 'operator-token-for-tests';
const PHONE = '+14155550100';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start() {
  const bridge = await startBridge({ OPERATOR_TOKEN: TOKEN });
  cleanup.add(() => bridge.stop());
  const home = await tempDir(cleanup);
  const env = { HOME: home, FOOTBRIDGE_OPERATOR_URL: bridge.operatorUrl, OPERATOR_TOKEN: TOKEN };
  const run = (...args: string[]) => runInProcess(args, { env });
  await run('license', 'create', 'Office');
  await run('keys', 'add', '--preset', 'highlevel', '--label', 'HighLevel');
  await run('token', 'create', 'Agency');
  writeFileSync(join(home, 'numbers'), `${PHONE}\n+14155550101\n`);
  const audit = async () => jsonLines((await run('audit', '--limit', '200')).stdout).length;
  return { bridge, home, run, audit };
}

describe('--dry-run', () => {
  it('changes nothing, does not prompt and prints what would change', async () => {
    const { bridge, home, run, audit } = await start();
    const before = await audit();
    const changes = [
      ['license', 'create', 'Second'],
      ['license', 'suspend', 'Office'],
      ['license', 'revoke', 'Office'],
      ['license', 'seats', 'Office', '3'],
      ['location', 'assign', 'loc1', 'Office'],
      ['location', 'release', 'loc1'],
      ['location', 'delete', 'loc1', '--in-use'],
      ['location', 'disconnect', 'loc1'],
      ['device', 'pair', 'loc1'],
      ['keys', 'add', '--preset', 'highlevel-legacy'],
      ['keys', 'disable', 'HighLevel'],
      ['keys', 'remove', 'HighLevel'],
      ['token', 'create', 'Other'],
      ['token', 'remove', 'Agency'],
      ['opt-out', 'add', 'loc1', '--phone', PHONE],
      ['opt-out', 'import', join(home, 'numbers'), '--location', 'loc1'],
      ['privacy', 'erase', '--phone', PHONE],
      ['privacy', 'retention', 'loc1', '--journal-days', '7'],
      ['capture', 'loc1'],
      ['send', 'Hello', '--to', PHONE, '--location', 'loc1'],
      ['trigger', 'inbound.text'],
      ['alerts', 'test'],
      ['login', 'office', '--url', bridge.operatorUrl, '--token-file', join(home, 'token')],
      ['conformance', '--listen', '127.0.0.1:0'],
      ['backup', join(home, 'backup')],
      ['restore', join(home, 'backup')],
      ['migrate'],
    ];
    writeFileSync(join(home, 'token'), TOKEN);
    for (const args of changes) {
      const { code, stdout, stderr } = await run(...args, '--dry-run');
      expect([args, code, stderr, jsonLines(stdout)]).toEqual([
        args,
        0,
        '',
        [expect.objectContaining({ dryRun: true, would: expect.any(String) })],
      ]);
      expect(stdout).not.toContain(PHONE);
    }
    expect(await audit()).toBe(before);
    expect(existsSync(join(home, '.config'))).toBe(false);
    const env = join(home, '.env');
    const setup = ['setup', 'highlevel', '--base-url', 'https://b.example.com', '--client-id', 'client'];
    writeFileSync(join(home, 'secret'), 'secret-of-the-app');
    const done = await run(...setup, '--client-secret-file', join(home, 'secret'), '--env-file', env, '-n');
    expect([done.code, existsSync(env), done.stdout]).toEqual([0, false, expect.stringContaining('dryRun')]);
    expect(done.stdout).not.toContain('secret-of-the-app');
  });

  it('counts the lines of an import file', async () => {
    const { home, run } = await start();
    const { stdout } = await run('opt-out', 'import', join(home, 'numbers'), '--location', 'loc1', '-n');
    expect(jsonLines(stdout)).toMatchObject([{ dryRun: true, lines: 2 }]);
    expect((await run('opt-out', 'list')).stdout).toBe('');
  });
});

describe('--no-input', () => {
  it('never prompts, even on a terminal', async () => {
    const { bridge } = await start();
    const env = { FOOTBRIDGE_OPERATOR_URL: bridge.operatorUrl, OPERATOR_TOKEN: TOKEN };
    const asking = recordedIo({ env, isTTY: true });
    const io = { ...asking, stdin: Object.assign(asking.stdin, { isTTY: true }) };
    const program = await createProgram(io);
    await expect(
      program.parseAsync(['license', 'revoke', 'Office', '--no-input'], { from: 'user' }),
    ).rejects.toThrow('--no-input is given');
    await expect(
      program.parseAsync(['login', '--url', bridge.operatorUrl, '--no-input'], { from: 'user' }),
    ).rejects.toThrow('login needs --token-file with --no-input');
    expect(asking.written.stderr).toBe('');
  });
});
