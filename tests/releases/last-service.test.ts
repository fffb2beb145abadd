import { startAgent } from '@footbridge/testkit/agent';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { startCrm } from '@footbridge/testkit/crm';
import { crmEnv } from '@footbridge/testkit/crm-env';
import { startService } from '@footbridge/testkit/service';
import { until } from '@footbridge/testkit/until';
import { afterEach, expect, it } from 'vitest';

import { unpackLastRelease } from '../nodes/last-release.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const LOCATION = 'location1';
const PHONE = '+15555550101';

it('the current agent sends, reports a failure and receives through the service of the last release', async () => {
  const crm = await startCrm();
  cleanup.add(() => crm.stop());
  const service = await startService({
    main: await unpackLastRelease(cleanup),
    env: { ...crmEnv(crm), CRM_OAUTH_REFRESH_THRESHOLD_SEC: '60' },
  });
  cleanup.add(() => service.stop());
  crm.bridgeUrl = service.url;
  await fetch(`${service.url}/oauth/callback/crm?code=${crm.install({ locationId: LOCATION })}`);
  const { key: license } = await service.license();
  const agent = await startAgent({ url: service.url, license, location: LOCATION });
  cleanup.add(() => agent.stop());
  await agent.registered();
  const outcomeOf = async (fields: object) => {
    const { messageId = '' } = await crm.sendWebhook({ locationId: LOCATION, phone: PHONE, ...fields });
    await until(() => crm.accepted(messageId).length === 2, { what: 'the terminal status' });
    return crm.accepted(messageId).at(-1);
  };
  expect(await outcomeOf({ message: 'Hello' })).toBe('delivered');
  expect(await outcomeOf({ message: 'Look', attachments: ['https://127.0.0.1:1/none.png'] })).toBe('failed');
  await agent.say(PHONE, { text: 'Hi' });
  await until(() => crm.messages.length === 1, { what: 'the inbound message' });
  expect(crm.messages).toMatchObject([{ locationId: LOCATION, message: expect.stringMatching(/^Hi/) }]);
});
