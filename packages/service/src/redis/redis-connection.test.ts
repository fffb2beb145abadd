import { startFaultProxy } from '@footbridge/testkit/fault-proxy';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { undoList } from '@footbridge/testkit/undo';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { loadScript, openRedis } from './open-redis.ts';
import type { Redis } from './open-redis.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const SCRIPT = loadScript(new URL('../ports/switchboard/scripts/owner.lua', import.meta.url));

describe.skipIf(!(await hasRedis()))('the way to Redis', () => {
  const undo = undoList();
  afterEach(() => undo.run());

  async function start(silentMs?: number) {
    const server = await startRedis();
    undo.add(() => server.stop());
    const proxy = await startFaultProxy({ to: server.url });
    undo.add(() => proxy.stop());
    const open = async (url: string) => {
      const redis = await openRedis(url, silent, silentMs);
      undo.add(() => redis.close());
      return redis;
    };
    const redis = await open(proxy.url(server.url));
    const other = await open(server.url);
    const heard: string[] = [];
    await redis.subscribe('news', (message) => void heard.push(message.toString()));
    let returns = 0;
    redis.onBack(() => void returns++);
    return { server, proxy, redis, other, heard, returns: () => returns };
  }

  const isHeard = (other: Redis, heard: string[], word: string) =>
    until(
      async () => {
        await other.publish('news', Buffer.from(word));
        return heard.includes(word);
      },
      { every: 100, what: `"${word}" is heard` },
    );

  it('a network that swallows everything is left for a new connection, which listens to the same', async () => {
    const { proxy, redis, other, heard, returns } = await start(1500);
    await isHeard(other, heard, 'before');
    const silence = proxy.add({ type: 'timeout' });
    const opened = proxy.seen.connections;
    await expect(redis.ping()).rejects.toThrow(/did not answer|could not do it/);
    await until(() => proxy.seen.connections >= opened + 2, { what: 'new connections' });
    // Commands do not pile up behind a connection that is gone.
    await until(() =>
      redis.ping().then(Boolean, (error: Error) => error.message === 'Redis could not do it'),
    );
    silence.remove();
    await isHeard(other, heard, 'after');
    await redis.run(SCRIPT, ['nobody'], []);
    expect(returns()).toBeGreaterThan(0);
  });

  it('a restarted Redis knows neither scripts nor listeners, and is told both again', async () => {
    const { server, redis, other, heard, returns } = await start();
    await redis.run(SCRIPT, ['nobody'], []);
    await server.restart();
    await until(
      () =>
        redis.ping().then(
          () => true,
          () => false,
        ),
      { every: 50 },
    );
    await redis.run(SCRIPT, ['nobody'], []);
    await until(
      () =>
        other.ping().then(
          () => true,
          () => false,
        ),
      { every: 50 },
    );
    await isHeard(other, heard, 'after');
    expect(returns()).toBe(2);
  });

  it('a word that nobody listens to is known to have reached nobody', async () => {
    const { redis } = await start();
    expect(await redis.publish('news', Buffer.from('x'))).toBe(1);
    expect(await redis.publish('elsewhere', Buffer.from('x'))).toBe(0);
  });
});
