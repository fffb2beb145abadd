import { startFaultProxy } from '@footbridge/testkit/fault-proxy';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { isRedisDown } from './is-redis-down.ts';

describe.skipIf(!(await hasRedis()))('isRedisDown', () => {
  const cleanup = createCleanup();
  afterEach(() => cleanup.run());

  async function start() {
    const server = await startRedis();
    cleanup.add(() => server.stop());
    const proxy = await startFaultProxy({ to: server.url });
    cleanup.add(() => proxy.stop());
    return { server, proxy, through: proxy.url(server.url) };
  }

  it('is false while Redis responds, also after existing connections broke', async () => {
    const { server, proxy, through } = await start();
    expect(await isRedisDown(server.url)).toBe(false);
    proxy.cut();
    expect(await isRedisDown(through)).toBe(false);
  });

  it('is true when nothing listens at the address, also behind a proxy that does', async () => {
    const { server, through } = await start();
    await server.kill();
    expect(await isRedisDown(server.url)).toBe(true);
    expect(await isRedisDown(through)).toBe(true);
    await server.restart();
    expect(await isRedisDown(through)).toBe(false);
  });

  it('is true when the refusal arrives while this process is stalled', async () => {
    const { server } = await start();
    await server.kill();
    const asked = isRedisDown(server.url);
    for (const end = performance.now() + 500; performance.now() < end;);
    expect(await asked).toBe(true);
  });

  it('is false when Redis only does not respond', async () => {
    const { server, proxy, through } = await start();
    server.pause();
    expect(await isRedisDown(server.url)).toBe(false);
    server.resume();
    proxy.add({ type: 'timeout' });
    expect(await isRedisDown(through)).toBe(false);
  });
});
