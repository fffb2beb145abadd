import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { describe, expect, it } from 'vitest';

import { REDIS_FAULTS, runRedisFault } from './redis-faults.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)('three nodes under load while Redis', () => {
  const names = ['REPLICAOF', 'FAILOVER', 'Sentinel switch', 'its clock set back by an hour'];
  it.each(names.filter((name) => name in REDIS_FAULTS))(
    'T63 %s: no connected Mac gets 404, no text is told as failed or lost',
    async (name) => {
      expect(await runRedisFault(name, { afterMs: 5000 })).toMatchObject({
        notFound: 0,
        failed: 0,
        undelivered: 0,
        others: [],
        bugs: [],
      });
    },
    300_000,
  );
});
