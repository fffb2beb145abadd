import { mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { systemClock } from '@footbridge/runtime/clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { ed25519Key, signBody } from '@footbridge/testkit/keys';
import { tempDir, createCleanup } from '@footbridge/testkit/cleanup';
import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';

import { renderError } from '@footbridge/service/platform/http/render-error';
import { keyRoutes } from '@footbridge/service/relay/keys/keys-routes';
import { requireOperator } from '@footbridge/service/platform/operator/operator-auth';
import { OperatorAuth } from '@footbridge/service/platform/operator/authenticate-operator';
import { createOperators } from '@footbridge/service/platform/operator/operators-sql';
import { crmKeys } from '@footbridge/service/relay/keys/keys-sql';
import { createMemoryLimits } from '@footbridge/service/platform/limits/limits-memory';
import { openDatabase } from '@footbridge/service/platform/sql/open-database';

import { runCli } from './run-cli.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const TOKEN = 'operator-token-for-tests';
const key = ed25519Key('cli');

async function start() {
  const dir = await tempDir(cleanup);
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  cleanup.add(() => database.close());
  const app = fastify();
  app.setErrorHandler(renderError(silentLog));
  const operators = createOperators({ db: database.db, clock: systemClock });
  const auth = new OperatorAuth({ token: TOKEN, operators, clock: systemClock });
  requireOperator({ auth, limits: createMemoryLimits(systemClock) })(app);
  keyRoutes({
    keys: crmKeys(database.db, () => Date.now()),
    fixed: () => [],
    lastUsed: () => undefined,
    reload: async () => {},
    rejections: () => [
      { step: 'key', header: 'x-acme-signature', locationId: 'loc1', count: 3, lastAt: Date.UTC(2026, 0, 1) },
    ],
    changes: { announce: async () => {} },
    audit: { record: async () => {} },
  })(app);
  await app.listen({ port: 0, host: '127.0.0.1' });
  cleanup.add(() => app.close());
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const env = { FOOTBRIDGE_OPERATOR_URL: url, OPERATOR_TOKEN: TOKEN };
  writeFileSync(join(dir, 'key.pem'), key.publicKey);
  writeFileSync(join(dir, 'private.pem'), key.privateKey);
  return {
    dir,
    run: (args: string[], more: { env?: Record<string, string | undefined>; input?: string } = {}) =>
      runCli(args, dir, { ...env, ...more.env }, more.input),
  };
}

const ADD = ['keys', 'add', '--label', 'Acme', '--header', 'X-Acme-Signature', '--file', 'key.pem'];

describe('footbridge keys', () => {
  it('shows at which step webhooks got 401', async () => {
    const { run } = await start();
    const { stdout } = await run(['keys', 'rejections', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      step: 'key',
      header: 'x-acme-signature',
      count: 3,
      lastAt: '2026-01-01T00:00:00.000Z',
      meaning: 'No enabled key of this header verifies the signature.',
    });
  });

  it('S6 adds, lists, disables, enables and removes a key', async () => {
    const { run: cli } = await start();
    const added = await cli([...ADD, '--location', 'locA', 'locB']);
    expect(added).toMatchObject({
      code: 0,
      lines: [{ label: 'Acme', scheme: 'Ed25519', locations: ['locA', 'locB'] }],
    });
    expect((await cli(['keys', 'list'])).lines).toMatchObject([{ label: 'Acme', enabled: true }]);
    expect((await cli(['keys', 'disable', 'Acme'])).lines).toMatchObject([{ enabled: false }]);
    const id = String(added.lines[0]?.['id']);
    expect((await cli(['keys', 'enable', id.slice(0, 8)])).lines).toMatchObject([{ enabled: true }]);
    const asked = await cli(['keys', 'remove', 'Acme']);
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect((await cli(['keys', 'remove', 'Acme', '--yes'])).lines).toEqual([{ id, removed: true }]);
    expect(await cli(['keys', 'list'])).toMatchObject({ code: 0, lines: [] });
  });

  it('S6 adds keys from presets and from standard input', async () => {
    const { run: cli } = await start();
    expect((await cli(['keys', 'add', '--preset', 'highlevel'])).lines).toMatchObject([
      { header: 'X-GHL-Signature' },
    ]);
    const piped = await cli(['keys', 'add', '--label', 'Piped', '--file', '-'], { input: key.publicKey });
    expect(piped.lines).toMatchObject([{ label: 'Piped', header: 'X-CRM-Signature' }]);
  });

  it('S6 reports why the service rejected a key, without printing the key', async () => {
    const { run: cli } = await start();
    const refused = await cli(['keys', 'add', '--label', 'x', '--file', 'private.pem']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('is a private key');
    expect(refused.stderr).not.toContain('MC4C');
  });

  it.each([
    ['a usage error', ['keys', 'add', '--label', 'x'], {}, 2],
    ['an unknown command', ['kyes'], {}, 2],
    ['an unknown flag', ['keys', 'list', '--colour'], {}, 2],
    ['no token', ['keys', 'list'], { OPERATOR_TOKEN: undefined }, 3],
    ['a wrong token', ['keys', 'list'], { OPERATOR_TOKEN: 'wrong-token-wrong-token' }, 4],
    ['no such key', ['keys', 'disable', 'unknown'], {}, 5],
    ['no service', ['keys', 'list'], { FOOTBRIDGE_OPERATOR_URL: 'http://127.0.0.1:1' }, 7],
    ['help', ['--help'], {}, 0],
    ['nothing', [], {}, 0],
  ])('ends with its own exit code for %s', async (_name, args, env, code) => {
    const { run: cli } = await start();
    expect((await cli(args, { env })).code).toBe(code);
  });

  it('reads the operator token from the data folder of the service', async () => {
    const { run: cli, dir } = await start();
    mkdirSync(join(dir, 'data'));
    writeFileSync(join(dir, 'data/operator-token'), `${TOKEN}\n`);
    expect((await cli(['keys', 'list'], { env: { OPERATOR_TOKEN: undefined } })).code).toBe(0);
    writeFileSync(join(dir, 'token'), TOKEN);
    const other = { OPERATOR_TOKEN: 'wrong-token-wrong-token' };
    expect((await cli(['keys', 'list', '--token-file', 'token'], { env: other })).code).toBe(0);
  });
});

describe('footbridge keys test', () => {
  const body = '{"locationId":"loc1"}';

  it('S2 verifies a signature without a running service', async () => {
    const { run: cli, dir } = await start();
    writeFileSync(join(dir, 'body'), body);
    const test = (signature: string) =>
      cli(['keys', 'test', '--body', 'body', '--signature', signature, '--key-file', 'key.pem'], {
        env: { FOOTBRIDGE_OPERATOR_URL: 'http://127.0.0.1:1' },
      });
    expect(await test(signBody(body, key))).toMatchObject({
      code: 0,
      lines: [{ ok: true, step: 'verified' }],
    });
    expect(await test(signBody(`${body} `, key))).toMatchObject({ code: 4, lines: [{ ok: false }] });
    expect(await test('N/A')).toMatchObject({ code: 4, lines: [{ step: 'header' }] });
  });

  it('S5 verifies with the keys of the service when no key is given', async () => {
    const { run: cli } = await start();
    await cli(ADD);
    const args = ['keys', 'test', '--body', '-', '--signature', signBody(body, key)];
    expect((await cli(args, { input: body })).lines).toMatchObject([{ ok: true, key: 'Acme' }]);
    expect((await cli(args, { input: '{\n  "locationId": "loc1"\n}' })).lines).toMatchObject([
      { ok: false, step: 'body', hint: expect.stringContaining('re-serialised') },
    ]);
    await cli(['keys', 'disable', 'Acme']);
    expect(await cli(args, { input: body })).toMatchObject({
      code: 4,
      lines: [{ ok: false, step: 'enabled', key: 'Acme', reason: expect.stringContaining('disabled') }],
    });
  });
});
