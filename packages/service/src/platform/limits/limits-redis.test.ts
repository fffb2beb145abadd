import { newRequestId } from '@footbridge/protocol/ids';
import { systemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import { ageKeys } from '@footbridge/testkit/age-keys';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { until } from '@footbridge/testkit/until';
import { createClient } from '@redis/client';
import { silentLog } from '@footbridge/testkit/silent-log';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openRedis } from '../redis/open-redis.ts';
import type { Redis } from '../redis/open-redis.ts';
import { createMemoryLimits } from './limits-memory.ts';
import { createRedisLimits } from './limits-redis.ts';
import { limitsContract } from './limits.contract.ts';

const PATIENT_MS = 60_000;

describe.skipIf(!(await hasRedis()))('with Redis', () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  /** Without `timeoutMs`, a node counts for itself as soon as a busy machine delays a response by half a second. */
  const open = async (clock: Clock = systemClock, timeoutMs?: number) => {
    const redis = await openRedis({ url: server.url, prefix: 'test:', log: silentLog });
    let calls = 0;
    const run: Redis['run'] = (script, keys, args, ms) => {
      calls++;
      return redis.run(script, keys, args, timeoutMs ?? ms);
    };
    const limits = createRedisLimits({
      redis: { run },
      fallback: createMemoryLimits(clock),
      clock,
      log: silentLog,
    });
    return {
      ...limits,
      calls: () => calls,
      close: async () => void (await Promise.all([limits.close(), redis.close()])),
    };
  };

  limitsContract('Redis', async () => ({
    limits: await open(systemClock, PATIENT_MS),
    pass: (ms) => ageKeys(server.url, 'test:limit:*', ms),
  }));

  it('L6 allows exactly the limit over four nodes together', async () => {
    const nodes = await Promise.all(Array.from({ length: 4 }, () => open(systemClock, PATIENT_MS)));
    const limit = { name: 'over-nodes', max: 60, windowSec: 60 };
    const verdicts = await Promise.all(
      Array.from({ length: 600 }, async (_, index) => nodes[index % 4]?.take(limit, 'loc')),
    );
    expect(verdicts.filter((verdict) => verdict?.allowed)).toHaveLength(60);
    await Promise.all(nodes.map((node) => node.close()));
  });

  it('L6 counts per node while Redis is unavailable, and over all nodes again afterwards', async () => {
    const clock = new FakeClock();
    const [node, other] = await Promise.all([open(clock), open()]);
    const limit = { name: 'away', max: 2, windowSec: 60 };
    server.pause();
    const verdicts = [];
    for (let request = 0; request < 3; request++) verdicts.push(await node.take(limit, 'a'));
    expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    const calls = node.calls();
    for (let request = 0; request < 20; request++) await node.take(limit, `b${request}`);
    expect(node.calls()).toBe(calls);
    // After a pause one request probes Redis, the others do not wait for it.
    await clock.advance(1000);
    await Promise.all(Array.from({ length: 20 }, async (_, request) => node.take(limit, `c${request}`)));
    expect(node.calls()).toBe(calls + 1);
    server.resume();
    await clock.advance(1000);
    // Each node sees what the other counted.
    await until(
      async () => {
        const back = { ...limit, name: `back-${newRequestId()}` };
        await other.take(back, 'a');
        await clock.advance(1000);
        return (await node.peek(back, 'a')).remaining === 1;
      },
      { every: 200 },
    );
    await Promise.all([node.close(), other.close()]);
  });

  it('gives every counter an expiry, and shows no location or address in a key', async () => {
    const node = await open(systemClock, PATIENT_MS);
    await node.take({ name: 'kept', max: 2, windowSec: 60 }, 'loc-4711');
    const client = createClient({ url: server.url });
    await client.connect();
    const keys = await client.keys('test:limit:kept:*');
    expect(keys).toHaveLength(1);
    for (const key of keys) {
      expect(await client.pTTL(key)).toBeGreaterThan(0);
      expect(key).not.toContain('4711');
    }
    client.destroy();
    await node.close();
  });
});
