import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { LOCATION, PHONE, TestBridge } from '../contract/test-bridge.ts';
import { runCli } from './run-cli.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('footbridge reach reads the number from standard input and prints what the Mac replied', async () => {
  const bridge = await TestBridge.start();
  cleanup.add(() => bridge.stop());
  const folder = await tempDir(cleanup);
  const { operatorUrl, operatorToken } = bridge.bridge;
  const env = { FOOTBRIDGE_OPERATOR_URL: operatorUrl, OPERATOR_TOKEN: operatorToken };
  const mac = await bridge.connect();
  await mac.register(LOCATION, { capabilities: ['reach'] });
  const running = runCli(['reach', LOCATION, '--phone', '-'], folder, env, `${PHONE}\n`);
  const { requestId, phone } = await mac.nextFrame('reach_request', 60_000);
  expect(phone).toBe(PHONE);
  mac.send({ type: 'reach_result', requestId, reach: 'SMS', reason: 'The person last wrote by SMS.' });
  const { code, lines } = await running;
  expect(code).toBe(0);
  expect(lines).toMatchObject([
    { phone: '+1•••0100', reach: 'SMS', reason: 'The person last wrote by SMS.' },
  ]);
});
