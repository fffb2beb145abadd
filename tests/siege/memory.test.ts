import { createCleanup } from '@footbridge/testkit/cleanup';
import { collectGarbage } from '@footbridge/testkit/collect-garbage';
import { until } from '@footbridge/testkit/until';
import { afterEach, expect, it } from 'vitest';

import { LOCATION, OTHER_LOCATION, TestBridge } from '../contract/test-bridge.ts';
import { honestTraffic } from './honest-traffic.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** Bytes in buffers that are in use, of the service and of the CRM and the Macs of this test. */
function usedBuffers(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

it('T53 attachments on their way to the CRM take a bounded amount of memory', async () => {
  const bridge = await TestBridge.start({ env: { CRM_UPLOAD_ATTACHMENTS: 'true' } });
  cleanup.add(() => bridge.stop());
  await bridge.mac(OTHER_LOCATION);
  const token = await bridge.token();
  const mac = await bridge.connect({ token });
  await mac.register(LOCATION);
  const stored = await fetch(`${bridge.url}/mac/assets`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: new Uint8Array(4_900_000),
  });
  const { url } = (await stored.json()) as { url: string };
  const hanging = bridge.crm.injectFault({ match: 'upload', times: 1000, how: 'hang' });
  const before = usedBuffers();
  const attachments = Array.from({ length: 20 }, () => url);
  for (let sender = 1; sender <= 4; sender++)
    mac.received({ sender: `+1415555010${sender}`, text: 'look', attachments });
  await until(() => hanging.hits === 2);
  await mac.roundTrip();
  expect(await honestTraffic(bridge)).toMatchObject({ statuses: { 200: 20 } });
  expect(usedBuffers() - before).toBeLessThan(100_000_000);
  expect(hanging.hits).toBe(2);
});
