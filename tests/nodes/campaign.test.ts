import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { describe, expect, it } from 'vitest';

import { campaign } from './campaign.ts';
import { FLAWLESS } from './score.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)('a small campaign', () => {
  it('I6 messages both ways while nodes, servers and sockets break: none lost, doubled or out of order, one owner at a time, no false answer', async () => {
    const score = await campaign({ messages: 150, faults: 15, seed: 7, locations: 4 });
    expect(score).toMatchObject({
      inbound: 150,
      outbound: 150,
      evidence: [],
      faults: FLAWLESS,
      bugs: [],
    });
  }, 300_000);
});
