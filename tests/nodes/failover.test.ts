import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { describe, expect, it } from 'vitest';

import { failover } from './failover.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)('failover', () => {
  it('M1 after kill -9 of a node all its Macs are served elsewhere', async () => {
    const samples = await failover({ macs: 60, kills: 2 });
    expect(samples).toHaveLength(120);
  }, 300_000);
});
