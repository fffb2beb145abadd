import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, expect, it } from 'vitest';

import { GOOD, OTHER_LOCATION, TestBridge } from '../contract/test-bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const SLOW = ['slowAAAAAAAA1', 'slowBBBBBBBB2', 'slowCCCCCCCC3', 'slowDDDDDDDD4', 'slowEEEEEEEE5'];

async function start(env: Record<string, string> = {}): Promise<TestBridge> {
  const bridge = await TestBridge.start({
    env: { RATE_LIMIT_CRM_CALLS: '1000', ...env },
    oauth: 'unauthorised',
  });
  cleanup.add(() => bridge.stop());
  for (const locationId of [...SLOW, OTHER_LOCATION]) await bridge.authorise(locationId);
  return bridge;
}

it('T52 W7 five tenants whose CRM does not respond leave connections for the lookup of another', async () => {
  const bridge = await start();
  const mac = await bridge.mac(OTHER_LOCATION);
  const { id: contactId } = bridge.crm.addContact({ locationId: OTHER_LOCATION, phone: '+14155550123' });
  const hanging = SLOW.map((locationId) =>
    bridge.crm.injectFault({ match: 'contact', locationId, times: 1000, how: 'hang' }),
  );
  const lookUps = SLOW.flatMap((locationId) =>
    Array.from({ length: 100 }, () => bridge.post({ ...GOOD, locationId, phone: undefined })),
  );
  // As many as the connections to the CRM allow.
  await until(() => hanging.reduce((sum, { hits }) => sum + hits, 0) >= 150);
  const answer = await bridge.post({ ...GOOD, locationId: OTHER_LOCATION, contactId, phone: undefined });
  expect(answer.status).toBe(200);
  expect((await mac.nextFrame('send')).phone).toBe('+14155550123');
  await bridge.clock.skipThrough(Promise.all(lookUps));
});

it('W7 responds 503 to a webhook whose phone could not be looked up in time', async () => {
  const bridge = await start({ RATE_LIMIT_CRM_CALLS: '1' });
  const { id: contactId } = bridge.crm.addContact({ locationId: OTHER_LOCATION, phone: '+14155550123' });
  const post = () => bridge.post({ ...GOOD, locationId: OTHER_LOCATION, contactId, phone: undefined });
  expect((await post()).json).toMatchObject({ code: 'LOCATION_NOT_CONNECTED' });
  const answer = await bridge.clock.skipThrough(post());
  expect(answer.status).toBe(503);
  expect(answer.json).toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  expect(answer.headers.get('retry-after')).toBe('5');
});
