import { expect, it } from 'vitest';

import { loseResponses } from './lost-responses.ts';

it('I9 no message is lost, duplicated or uncertain when the CRM loses a third of its responses and the service is killed five times', async () => {
  const score = await loseResponses({ messages: 80, kills: 5, seed: 7 });
  expect(score).toMatchObject({
    messages: 80,
    lost: 0,
    doubled: 0,
    orderBreaks: 0,
    uncertain: 0,
    doubledContacts: 0,
  });
  expect(score.kills).toBeGreaterThan(0);
  expect(score.lostCalls).toBeGreaterThan(10);
}, 300_000);
