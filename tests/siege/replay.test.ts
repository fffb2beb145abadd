import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, expect, it } from 'vitest';

import { GOOD, TestBridge } from '../contract/test-bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start(env: Record<string, string> = {}): Promise<TestBridge> {
  const bridge = await TestBridge.start({ env });
  cleanup.add(() => bridge.stop());
  return bridge;
}

const WITHOUT_ID = { ...GOOD, messageId: undefined };

it('T1 a captured webhook without a messageId that is sent again gets 200 and no second text', async () => {
  const bridge = await start({ REPLAY_MEMORY: 'on' });
  await bridge.mac();
  for (let time = 0; time < 3; time++) expect((await bridge.post(WITHOUT_ID)).status).toBe(200);
  const together = Array.from({ length: 5 }, () => bridge.post({ ...WITHOUT_ID, message: 'At once' }));
  for (const { status } of await Promise.all(together)) expect(status).toBe(200);
  expect((await bridge.post({ ...WITHOUT_ID, message: 'Another text' })).status).toBe(200);
  expect((await bridge.sent()).map(({ message }) => message)).toEqual(['Hello', 'At once', 'Another text']);
  expect(bridge.log).toContain('webhook.replayed');
  await bridge.restart();
  await bridge.mac();
  expect((await bridge.post(WITHOUT_ID)).status).toBe(200);
  expect(await bridge.sent()).toEqual([]);
  // It is forgotten after a day.
  bridge.clock.freeze(86_400_000);
  await bridge.mac();
  await bridge.post(WITHOUT_ID);
  await until(async () => (await bridge.sent()).length > 0);
});

it('T1 a webhook that was not sent can be repeated', async () => {
  const bridge = await start({ REPLAY_MEMORY: 'on' });
  expect((await bridge.post(WITHOUT_ID)).status).toBe(404);
  await bridge.mac();
  expect((await bridge.post(WITHOUT_ID)).status).toBe(200);
  expect(await bridge.sent()).toHaveLength(1);
});

it('T1 a webhook that repeats one in progress is sent if the first one is not', async () => {
  const bridge = await start({ REPLAY_MEMORY: 'on', FAILPOINTS: 'outbound.switchboard:pause:300' });
  const together = [bridge.post(WITHOUT_ID), bridge.post(WITHOUT_ID)];
  expect((await Promise.all(together)).map(({ status }) => status)).toEqual([404, 404]);
});

it('T1 REPLAY_MEMORY=off sends every webhook', async () => {
  const bridge = await start({ REPLAY_MEMORY: 'off' });
  await bridge.mac();
  for (let time = 0; time < 3; time++) await bridge.post(WITHOUT_ID);
  expect(await bridge.sent()).toHaveLength(3);
});
