import { createCleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import { startService } from '@footbridge/testkit/service';
import { afterEach, expect, it } from 'vitest';

import { MacAgent } from './mac-agent.ts';
import { MacPeople } from './mac.fixture.ts';
import { ANNA, BERT, person } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('the Mac reports to the operator how a person is reached, without sending anything', async () => {
  const service = await startService();
  cleanup.add(() => service.stop());
  const macos = await startSimulatedMacos();
  cleanup.add(() => macos.stop());
  const { key } = await service.license();
  const agent = new MacAgent({ url: service.url, macos, env: { FOOTBRIDGE_LICENSE: key } });
  cleanup.add(() => agent.stop());
  await agent.start();

  const reach = async (phone: string) => {
    const path = `/operator/locations/location1/reach?phone=${encodeURIComponent(phone)}`;
    const { status, body } = await service.operator('GET', path);
    expect(status).toBe(200);
    return [body['reach'], body['reason']];
  };
  expect(await reach(ANNA)).toEqual(['unknown', 'There is no message with this number yet.']);
  const people = new MacPeople(macos);
  await people.play(person(ANNA, 'say'), { text: 'Hello', service: 'iMessage' });
  await people.play(person(BERT, 'say'), { text: 'Hello', service: 'SMS' });
  expect(await reach(ANNA)).toEqual(['iMessage', 'The person last wrote by iMessage.']);
  expect(await reach(BERT)).toEqual(['SMS', 'The person last wrote by SMS.']);
  expect(await macos.messages.sent()).toEqual([]);

  await agent.halt();
  // Returned from the cache of the service: the Mac is offline.
  expect(await reach(ANNA)).toEqual(['iMessage', 'The person last wrote by iMessage.']);
  const { status, body } = await service.operator(
    'GET',
    '/operator/locations/location1/reach?phone=%2B14155550177',
  );
  expect([status, body['code']]).toEqual([409, 'CONFLICT']);
  expect(JSON.stringify(service.logs)).not.toContain(ANNA.slice(1));
});
