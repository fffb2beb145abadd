import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { startBridge } from '../bridge.ts';
import { runCli } from './run-cli.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** A running service, and a folder that has only the `.env` of that service. */
async function start(moreEnv: Record<string, string> = {}) {
  const bridge = await startBridge(moreEnv);
  cleanup.add(() => bridge.stop());
  const { port } = new URL(bridge.operatorUrl);
  const folder = await tempDir(cleanup);
  const writeEnv = (settings: Record<string, string>) =>
    writeFileSync(
      join(folder, '.env'),
      Object.entries({ ADMIN_PORT: port, DATA_DIR: bridge.dataDir, ...settings })
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
  writeEnv({});
  return { bridge, folder, port, writeEnv };
}

describe('the service that footbridge talks to', () => {
  it('is the one whose .env is in the current folder', async () => {
    const { folder, port, bridge, writeEnv } = await start();
    expect(await runCli(['keys', 'add', '--preset', 'highlevel'], folder)).toMatchObject({ code: 0 });
    const verbose = await runCli(['keys', 'list', '--verbose'], folder);
    expect(verbose).toMatchObject({ code: 0, lines: [{ header: 'X-GHL-Signature' }] });
    expect(verbose.stderr).toBe(
      `service http://127.0.0.1:${port} (ADMIN_PORT), token from ${join(bridge.dataDir, 'operator-token')}\n`,
    );
    writeEnv({ ADMIN_HOST: '0.0.0.0' });
    expect((await runCli(['keys', 'list'], folder)).code).toBe(0);
  });

  it('is found with the token file of the service', async () => {
    const { folder, writeEnv } = await start({ OPERATOR_TOKEN: 'token-of-the-settings' });
    const file = join(folder, 'token');
    writeFileSync(file, 'token-of-the-settings\n');
    writeEnv({ OPERATOR_TOKEN_FILE: file });
    expect((await runCli(['keys', 'list'], folder)).code).toBe(0);
    writeEnv({ OPERATOR_TOKEN: 'token-of-the-settings' });
    expect((await runCli(['keys', 'list'], folder)).code).toBe(0);
  });

  it('is the one of the environment where both name one', async () => {
    const { folder, writeEnv, port } = await start();
    writeEnv({ ADMIN_PORT: '1' });
    expect((await runCli(['keys', 'list'], folder, { ADMIN_PORT: port })).code).toBe(0);
    const url = `http://127.0.0.1:${port}/`;
    expect((await runCli(['keys', 'list'], folder, { FOOTBRIDGE_OPERATOR_URL: url })).code).toBe(0);
    expect((await runCli(['keys', 'list', '--url', url], folder)).code).toBe(0);
  });

  it('is named when it cannot be reached or rejects the token', async () => {
    const { folder, writeEnv, port } = await start();
    writeEnv({ ADMIN_PORT: '1' });
    const unreachable = await runCli(['keys', 'list'], folder);
    expect(unreachable.code).toBe(7);
    expect(unreachable.stderr).toContain('the service at http://127.0.0.1:1 (ADMIN_PORT)');
    writeEnv({ OPERATOR_TOKEN: 'of-another-service' });
    const rejected = await runCli(['keys', 'list'], folder);
    expect(rejected.code).toBe(4);
    expect(rejected.stderr).toContain(
      `http://127.0.0.1:${port} does not accept the token from OPERATOR_TOKEN`,
    );
    expect(rejected.stderr).not.toContain('of-another-service');
  });

  it('is not the public listener of a service, whose port is explained', async () => {
    const { bridge, folder } = await start();
    const refused = await runCli(['keys', 'list', '--url', bridge.url], folder);
    expect(refused).toMatchObject({ code: 7, stdout: '' });
    expect(refused.stderr).toContain(`${bridge.url} (--url) is not the operator listener`);
    expect(refused.stderr).toContain('ADMIN_PORT');
  });

  it('is named by the help', async () => {
    const { folder, port, writeEnv } = await start();
    expect((await runCli(['--help'], folder)).stdout).toContain(
      `Here: service http://127.0.0.1:${port} (ADMIN_PORT)`,
    );
    writeEnv({ ADMIN_PORT: '0' });
    expect(await runCli(['--help'], folder)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Here: ADMIN_PORT is 0'),
    });
    expect(await runCli(['keys', 'list'], folder)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('--url'),
    });
  });
});
