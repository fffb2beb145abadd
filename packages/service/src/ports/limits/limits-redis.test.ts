import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { systemClock } from '../../clock.ts';
import { openRedis } from '../../redis/open-redis.ts';
import { createMemoryLimits } from './limits-memory.ts';
import { createRedisLimits } from './limits-redis.ts';
import { limitsContract } from './limits.contract.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

describe.skipIf(!(await hasRedis()))('over Redis', () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  const open = async () => {
    const redis = await openRedis(server.url, silent);
    const limits = createRedisLimits({ redis, alone: createMemoryLimits(systemClock), log: silent });
    return { ...limits, close: async () => void (await Promise.all([limits.close(), redis.close()])) };
  };

  limitsContract('Redis', async () => ({
    limits: await open(),
    pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  }));

  it('L6 four nodes together let exactly the limit through', async () => {
    const nodes = await Promise.all([open(), open(), open(), open()]);
    const limit = { name: 'over-nodes', max: 60, windowSec: 60 };
    const verdicts = await Promise.all(
      Array.from({ length: 600 }, async (_, index) => nodes[index % 4]?.take(limit, 'loc')),
    );
    expect(verdicts.filter((verdict) => verdict?.allowed)).toHaveLength(60);
    await Promise.all(nodes.map((node) => node.close()));
  });

  it('L6 while Redis is away each node counts for itself, and over all nodes again when it is back', async () => {
    const node = await open();
    const limit = { name: 'away', max: 2, windowSec: 60 };
    server.pause();
    expect([
      (await node.take(limit, 'a')).allowed,
      (await node.take(limit, 'a')).allowed,
      (await node.take(limit, 'a')).allowed,
    ]).toEqual([true, true, false]);
    server.resume();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await node.take({ ...limit, name: 'back' }, 'a')).allowed).toBe(true);
    await node.close();
  });
});
