import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { SENDING_ENGINES } from './engine-agent.ts';
import { useEngine } from './engine.fixture.ts';
import { ANNA, BERT, person } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

describe.each(SENDING_ENGINES)('the reach of a person on %s Messages', (engine) => {
  const { run } = useEngine(engine, cleanup);

  it('is unknown without a message, and nothing is sent to find out', async () => {
    const { service, can, requested } = await run();
    expect(can('reach')).toBe(true);
    expect(await service.reachOf(ANNA)).toMatchObject({
      reach: 'unknown',
      reason: expect.stringContaining('no message'),
    });
    expect(await requested()).toBe(0);
  });

  it('is iMessage after a delivered iMessage, and SMS for a number that is not on iMessage', async () => {
    const { service, play } = await run();
    await play(person(BERT), { imessage: false });
    for (const phone of [ANNA, BERT]) {
      const { requestId } = service.send({ phone, message: 'Hello' });
      expect(await service.statusOf(requestId)).toMatchObject({ status: 'delivered' });
    }
    expect(await service.reachOf(ANNA)).toMatchObject({ reach: 'iMessage' });
    expect(await service.reachOf(BERT)).toMatchObject({ reach: 'SMS' });
  });

  it('follows the service of the newest message from the person', async () => {
    const { service, play } = await run();
    for (const by of ['SMS', 'iMessage', 'SMS']) {
      const { guid } = await play(person(ANNA, 'say'), { text: `By ${by}`, service: by });
      await service.messageOf(guid);
      expect(await service.reachOf(ANNA)).toMatchObject({
        reach: by,
        reason: `The person last wrote by ${by}.`,
      });
    }
  });
});
