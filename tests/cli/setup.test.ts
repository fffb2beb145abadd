import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { run } from '@footbridge/cli/run';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { LOCATION, TestBridge } from '../contract/test-bridge.ts';
import type { TestBridgeOptions } from '../contract/test-bridge.ts';
import { jsonLines, recordedIo, runInProcess } from './run-in-process.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const SECRET = '11111111-2222-3333-4444-555555555555';
const BASE = ['setup', 'highlevel', '--base-url', 'https://bridge.example.com/'];

async function start(options: TestBridgeOptions = {}) {
  const bridge = await TestBridge.start(options);
  cleanup.add(() => bridge.stop());
  const { operatorUrl, operatorToken } = bridge.bridge;
  return { bridge, env: { FOOTBRIDGE_OPERATOR_URL: operatorUrl, OPERATOR_TOKEN: operatorToken } };
}

describe('footbridge setup highlevel', () => {
  it('prints the form, and saves the credentials for their owner only without losing other settings', async () => {
    const folder = await tempDir(cleanup);
    const file = join(folder, '.env');
    writeFileSync(file, '# mine\nPORT=4700\nCRM_OAUTH_CLIENT_ID=old\n\n', { mode: 0o644 });
    writeFileSync(join(folder, 'secret'), `${SECRET}\n`);
    const args = [
      '--env-file',
      file,
      '--client-id',
      'new-id',
      '--client-secret-file',
      join(folder, 'secret'),
      '--no-wait',
    ];
    const { code, stdout, stderr } = await runInProcess([...BASE, ...args], { env: { HOME: folder } });
    expect(code).toBe(0);
    expect(jsonLines(stdout)).toMatchObject([
      {
        redirectUrl: 'https://bridge.example.com/oauth/callback/crm',
        deliveryUrl: 'https://bridge.example.com/crm/webhook',
        scopes: expect.arrayContaining(['conversations/message.write']),
      },
      { file, settings: expect.arrayContaining(['CRM_OAUTH_CLIENT_SECRET']) },
    ]);
    expect(stdout + stderr).not.toContain(SECRET);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toMatch(
      new RegExp(
        [
          '^# mine\nPORT=4700\nCRM_OAUTH_CLIENT_ID=new-id',
          `CRM_OAUTH_CLIENT_SECRET=${SECRET}`,
          'CRM_OAUTH_TOKEN_URL=https://services.leadconnectorhq.com/oauth/token',
          'CRM_OAUTH_ENCRYPTION_KEY=[0-9a-f]{64}',
          'CRM_OAUTH_REFRESH_THRESHOLD_SEC=3600',
          'DATABASE_URL=sqlite:./data/footbridge.sqlite',
          'BASE_URL=https://bridge.example.com',
          'CRM_OAUTH_ENABLED=true\n$',
        ].join('\n'),
      ),
    );
  });

  it.each([
    ['without an address', ['setup', 'highlevel'], 'setup needs --base-url'],
    [
      'with an http address',
      ['setup', 'highlevel', '--base-url', 'http://bridge.example.com'],
      'https addresses',
    ],
    ['without a client id', BASE, 'setup needs --client-id'],
    ['without a secret', [...BASE, '--client-id', 'some-id'], 'setup needs --client-secret-file'],
  ])('changes nothing %s', async (_name, args, message) => {
    const folder = await tempDir(cleanup);
    const file = join(folder, '.env');
    expect(await runInProcess([...args, '--env-file', file])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    });
    expect(existsSync(file)).toBe(false);
  });

  it('waits for the installation and tests the grant', async () => {
    const { bridge, env } = await start({ oauth: 'unauthorised' });
    const folder = await tempDir(cleanup);
    writeFileSync(join(folder, 'secret'), SECRET);
    const io = recordedIo({ env });
    const files = ['--env-file', join(folder, '.env'), '--client-secret-file', join(folder, 'secret')];
    const running = run([...BASE, '--client-id', 'some-id', ...files], io);
    await until(() => io.written.stdout.includes('installUrl'));
    await bridge.authorise(LOCATION);
    expect(await running).toBe(0);
    const printed = jsonLines(io.written.stdout);
    expect(printed).toEqual(
      expect.arrayContaining([
        { locationId: LOCATION },
        { check: `${LOCATION} contacts.readonly`, state: 'pass', sentence: 'the CRM accepts the token' },
      ]),
    );
    expect((await bridge.operator('GET', '/operator/keys')).body['keys']).toEqual(
      expect.arrayContaining([expect.objectContaining({ header: 'X-GHL-Signature' })]),
    );
  });
});

describe('footbridge crm check', () => {
  const check = async (env: Record<string, string>, ...args: string[]) => {
    const { code, stdout, stderr } = await runInProcess(['crm', 'check', ...args], { env });
    const findings = jsonLines(stdout);
    return { code, stderr, of: (name: string) => findings.find((one) => one['check'] === name) };
  };

  it('passes for an installed app, and says that no webhook has arrived yet', async () => {
    const { bridge, env } = await start();
    await bridge.mac();
    const { code, of } = await check(env);
    expect(code).toBe(0);
    for (const name of ['OAuth', 'provider', `${LOCATION} installed`, `${LOCATION} conversations.readonly`])
      expect([name, of(name)?.['state']]).toEqual([name, 'pass']);
    expect(of(`${LOCATION} webhook`)).toMatchObject({
      state: 'warn',
      next: expect.stringContaining(`${bridge.url}/crm/webhook`),
    });
    expect(await check(env, '--location', 'other')).toMatchObject({ code: 5 });
  });

  it('names a token without a scope, and a wrong provider', async () => {
    const { bridge, env } = await start({ env: { CRM_INBOUND_TYPE: 'Custom' } });
    await bridge.mac();
    const body = { statusCode: 401, message: 'The token is not authorized for this scope.' };
    bridge.crm.injectFault({ match: 'GET /contacts/*', times: 9, how: { status: 401, body } });
    const { code, of } = await check(env, '--location', LOCATION);
    expect(code).toBe(9);
    expect(of('provider')).toMatchObject({
      state: 'fail',
      next: expect.stringContaining('CRM_CONVERSATION_PROVIDER_ID'),
    });
    expect(of(`${LOCATION} contacts.readonly`)).toMatchObject({
      state: 'fail',
      next: expect.stringContaining('add the scope contacts.readonly'),
    });
  });
});
