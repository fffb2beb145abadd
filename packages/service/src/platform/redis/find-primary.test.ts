import { createCleanup } from '@footbridge/testkit/cleanup';
import { freePort } from '@footbridge/testkit/ports';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { startSentinels } from '@footbridge/testkit/servers/redis-sentinel';
import type { SentinelSet } from '@footbridge/testkit/servers/redis-sentinel';
import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { primaryFinder } from './find-primary.ts';
import { openRedis } from './open-redis.ts';

describe.skipIf(!(await hasRedis()))('Redis with sentinels', { timeout: 120_000 }, () => {
  let set: SentinelSet;
  const cleanup = createCleanup();
  beforeAll(async () => {
    set = await startSentinels();
  }, 120_000);
  afterEach(() => cleanup.run());
  afterAll(() => set.stop());

  it('is found although a sentinel is down, and not when none knows the name', async () => {
    const { url } = await set.primary();
    const down = `127.0.0.1:${await freePort()}`;
    const find = async (sentinels: string) => {
      const finder = primaryFinder(sentinels);
      cleanup.add(() => finder.close());
      return (await finder.find()).url;
    };
    expect(await find(set.url.replace('://', `://${down},`))).toBe(url);
    await expect(find(set.url.replace(/\/\w+$/, '/other'))).rejects.toThrow(/no sentinel/);
    await expect(find(`redis+sentinel://${down}/footbridge`)).rejects.toThrow(/no sentinel/);
  });

  it('T63 is the new primary within 5 s after a switch and after a death, with both connections', async () => {
    const open = async () => {
      const redis = await openRedis({ url: set.url, prefix: 'test:', log: silentLog });
      cleanup.add(() => redis.close());
      return redis;
    };
    const [one, other] = [await open(), await open()];
    const received: string[] = [];
    await one.subscribe('news', (message) => void received.push(message.toString()));
    const isBack = async (news: string) => {
      await Promise.all([one.ping(), other.ping()]);
      await other.publish('news', Buffer.from(news));
      return received.includes(news);
    };
    const back = (news: string) => until(() => isBack(news).catch(() => false), { within: 5000, every: 50 });

    await back('before');
    const former = await set.primary();
    await set.switchOver();
    await back('switched');
    expect(await set.primary()).not.toBe(former);
    // The former primary is a replica now, and its sockets were open.
    const second = await set.primary();
    await second.kill();
    cleanup.add(() => second.restart());
    await until(async () => (await set.primary()) === former, { within: 30_000, every: 50 });
    await back('died');
    // The sentinels may choose another primary: that none accepts connections proves nothing.
    await former.kill();
    cleanup.add(() => former.restart());
    await until(
      () =>
        one.ping().then(
          () => false,
          () => true,
        ),
      { every: 50 },
    );
    expect(await one.isDown()).toBe(false);
  });
});
