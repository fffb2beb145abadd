import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { describe, expect, it } from 'vitest';

import { failover, percentile } from './failover.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)('failover', () => {
  it('M1 after kill -9 of a node its Macs are served elsewhere within 5 s at p99', async () => {
    const samples = await failover({ macs: 60, kills: 2 });
    expect(samples).toHaveLength(120);
    expect(percentile(samples, 0.99)).toBeLessThan(5000);
  }, 120_000);
});
