import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { TestBridge } from '../contract/test-bridge.ts';
import { runCli } from './run-cli.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('creates, lists and removes a token for another user', async () => {
  const bridge = await TestBridge.start();
  cleanup.add(() => bridge.stop());
  const { operatorUrl, operatorToken } = bridge.bridge;
  const run = (args: string[], token = operatorToken) =>
    runCli(args, process.cwd(), { FOOTBRIDGE_OPERATOR_URL: operatorUrl, OPERATOR_TOKEN: token });

  const created = await run(['token', 'create', 'Agency', '--read-only', '--location', 'loc1', '--json']);
  const { token } = JSON.parse(created.stdout) as { token: string };
  expect((await run(['location', 'list'], token)).code).toBe(0);
  expect((await run(['license', 'list'], token)).stderr).toContain('covers some locations only');
  expect((await run(['token', 'list'])).stdout).toMatch(/Agency/);
  expect((await run(['audit'])).stdout).toMatch(/"name":"Operator","action":"token.created"/);
  const link = await run(['console', '--json'], token);
  expect(JSON.parse(link.stdout)).toMatchObject({
    url: expect.stringMatching(/\/console#code=[\w-]{43}$/),
  });
  expect((await run(['token', 'remove', 'other', '--yes'])).stderr).toContain('no token matches other');
  expect((await run(['token', 'remove', 'Agency', '--yes'])).code).toBe(0);
  expect((await run(['location', 'list'], token)).code).not.toBe(0);
});
