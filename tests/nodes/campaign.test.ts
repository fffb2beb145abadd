import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { describe, expect, it } from 'vitest';

import { campaign } from './campaign.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)('a small campaign', () => {
  it('I6 messages both ways while nodes, Redis and sockets break: none lost, none doubled, none out of order, no false 200', async () => {
    const score = await campaign({ messages: 150, faults: 7, seed: 7 });
    expect(score).toMatchObject({ faults: 7, lost: 0, doubled: 0, order: 0, false200: 0 });
  }, 180_000);
});
