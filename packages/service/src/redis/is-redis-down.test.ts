import { startFaultProxy } from '@footbridge/testkit/fault-proxy';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { undoList } from '@footbridge/testkit/undo';
import { afterEach, describe, expect, it } from 'vitest';

import { isRedisGone } from './is-redis-gone.ts';

describe.skipIf(!(await hasRedis()))('whether Redis is gone', () => {
  const undo = undoList();
  afterEach(() => undo.run());

  async function start() {
    const server = await startRedis();
    undo.add(() => server.stop());
    const proxy = await startFaultProxy({ to: server.url });
    undo.add(() => proxy.stop());
    return { server, proxy, through: proxy.url(server.url) };
  }

  it('not while it answers, nor when only old connections broke', async () => {
    const { server, proxy, through } = await start();
    expect(await isRedisGone(server.url)).toBe(false);
    proxy.cut();
    expect(await isRedisGone(through)).toBe(false);
  });

  it('when nobody listens there, also behind a proxy that does', async () => {
    const { server, through } = await start();
    await server.kill();
    expect(await isRedisGone(server.url)).toBe(true);
    expect(await isRedisGone(through)).toBe(true);
    await server.restart();
    expect(await isRedisGone(through)).toBe(false);
  });

  it('not when it is only silent', async () => {
    const { server, proxy, through } = await start();
    server.pause();
    expect(await isRedisGone(server.url)).toBe(false);
    server.resume();
    proxy.add({ type: 'timeout' });
    expect(await isRedisGone(through)).toBe(false);
  });
});
