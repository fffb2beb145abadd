import { newRequestId } from '@footbridge/protocol/ids';
import { systemClock } from '@footbridge/runtime/clock';
import { ageKeys } from '@footbridge/testkit/age-keys';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { silentLog } from '@footbridge/testkit/silent-log';
import { afterAll, beforeAll, describe } from 'vitest';

import { openRedis } from '../../platform/redis/open-redis.ts';
import { SendLedger } from './send-ledger.ts';
import { switchboardContract } from './switchboard.contract.ts';
import { createRedisSwitchboard } from './switchboard-redis.ts';

describe.skipIf(!(await hasRedis()))('with Redis', () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  beforeAll(async () => {
    server = await startRedis();
    // It has been running for a while: a missing lease proves that no Mac is connected.
    await server.command('SET test:since 1');
  });
  afterAll(() => server.stop());

  for (const count of [1, 3])
    switchboardContract(`Redis, ${count} nodes`, async ({ contention }) => {
      const nodes = await Promise.all(
        Array.from({ length: count }, async () => {
          const redis = await openRedis({ url: server.url, prefix: 'test:', log: silentLog });
          const node = await createRedisSwitchboard({
            redis,
            nodeSecret: 'a secret that all nodes share',
            clock: systemClock,
            log: silentLog,
            ledger: new SendLedger({ clock: systemClock, onDrop: () => {} }),
            node: newRequestId(),
            contention,
          });
          return { node, redis };
        }),
      );
      return {
        nodes: nodes.map(({ node }) => node),
        // Displacements expire by Redis's clock, which cannot be set.
        async passTime(ms) {
          for (const field of ['displacements', 'rejections']) await ageKeys(server.url, `*:${field}`, ms);
        },
        async close() {
          for (const { node, redis } of nodes) {
            await node.close();
            await redis.close();
          }
        },
      };
    });
});
