import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { startFaultProxy } from '@footbridge/testkit/fault-proxy';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { silentLog } from '@footbridge/testkit/silent-log';
import { afterEach, describe, expect, it } from 'vitest';

import { loadScript, openRedis } from './open-redis.ts';
import type { Redis } from './open-redis.ts';

const SCRIPT = loadScript(new URL('../../relay/switchboard/scripts/owner.lua', import.meta.url));

/** The timeout of a connection attempt, plus a margin. */
const CONNECT_TIMEOUT_MS = 4000;

/** Opens connections to a paused server until its backlog is full. */
async function fillBacklog(url: string): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  for (;;) {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    sockets.push(socket);
    const isConnected = new Promise((resolve) => socket.once('connect', () => resolve(true)));
    if (!(await Promise.race([isConnected, sleep(500, false)]))) return sockets;
  }
}

describe.skipIf(!(await hasRedis()))('the connections to Redis', () => {
  const cleanup = createCleanup();
  afterEach(() => cleanup.run());

  async function start(silentMs?: number) {
    const server = await startRedis();
    cleanup.add(() => server.stop());
    const proxy = await startFaultProxy({ to: server.url });
    cleanup.add(() => proxy.stop());
    const open = async (url: string) => {
      const redis = await openRedis({ url, prefix: 'test:', log: silentLog, silentMs });
      cleanup.add(() => redis.close());
      return redis;
    };
    const redis = await open(proxy.url(server.url));
    const other = await open(server.url);
    const received: string[] = [];
    await redis.subscribe('news', (message) => void received.push(message.toString()));
    let reconnects = 0;
    redis.onReconnect(() => void reconnects++);
    return { server, proxy, redis, other, received, reconnects: () => reconnects };
  }

  const isReceived = (other: Redis, received: string[], message: string) =>
    until(
      async () => {
        await other.publish('news', Buffer.from(message)).catch(() => 0);
        return received.includes(message);
      },
      { every: 100, what: `"${message}" is received` },
    );

  it('replaces a connection on which the network drops everything, with its subscriptions', async () => {
    const { proxy, redis, other, received, reconnects } = await start(1500);
    await isReceived(other, received, 'before');
    const silence = proxy.add({ type: 'timeout' });
    const opened = proxy.seen.connections;
    await expect(redis.ping()).rejects.toThrow(/did not respond|command failed/);
    await until(() => proxy.seen.connections >= opened + 2, { what: 'new connections' });
    // Commands do not queue up behind a lost connection.
    await until(() =>
      redis.ping().then(Boolean, (error: Error) => error.message === 'the Redis command failed'),
    );
    silence.remove();
    await isReceived(other, received, 'after');
    await redis.run(SCRIPT, ['unknown-key', 'since'], []);
    expect(reconnects()).toBeGreaterThan(0);
  });

  it('receives each message once after connections were replaced while connecting', async () => {
    const server = await startRedis();
    cleanup.add(() => server.stop());
    const redis = await openRedis({ url: server.url, prefix: 'test:', log: silentLog, silentMs: 500 });
    cleanup.add(() => redis.close());
    const received: string[] = [];
    await redis.subscribe('news', (message) => void received.push(message.toString()));
    server.pause();
    const fillers = await fillBacklog(server.url);
    cleanup.add(() => fillers.forEach((filler) => filler.destroy()));
    // Each attempt is replaced while it waits for a free slot in the backlog.
    await sleep(2000);
    server.resume();
    for (const filler of fillers) filler.destroy();
    await isReceived(redis, received, 'after');
    // After this, no pending attempt can still succeed.
    await sleep(CONNECT_TIMEOUT_MS);
    received.length = 0;
    expect(await redis.publish('news', Buffer.from('once'))).toBe(1);
    await isReceived(redis, received, 'last');
    expect(received.filter((message) => message === 'once')).toEqual(['once']);
  });

  it('sends scripts and subscriptions again to a restarted Redis', async () => {
    const { server, redis, other, received, reconnects } = await start();
    await redis.run(SCRIPT, ['unknown-key', 'since'], []);
    await server.restart();
    await until(
      () =>
        redis.ping().then(
          () => true,
          () => false,
        ),
      { every: 50 },
    );
    await redis.run(SCRIPT, ['unknown-key', 'since'], []);
    await until(
      () =>
        other.ping().then(
          () => true,
          () => false,
        ),
      { every: 50 },
    );
    await isReceived(other, received, 'after');
    expect(reconnects()).toBe(2);
  });

  it('leaves a primary that became a replica, with both connections', async () => {
    const { server, proxy, redis, received } = await start();
    const next = await startRedis();
    cleanup.add(() => next.stop());
    await server.command(`REPLICAOF 127.0.0.1 ${new URL(next.url).port}`);
    // The address still leads to the old primary.
    await expect(redis.ping()).rejects.toThrow('the Redis command failed');
    await sleep(1500);
    proxy.redirect(next.url);
    const isWritable = () =>
      redis.ping().then(
        () => true,
        () => false,
      );
    await until(isWritable, { every: 50, within: 5000 });
    // Otherwise the old primary passes the messages of the new one on.
    await server.command('REPLICAOF NO ONE');
    await isReceived(redis, received, 'after');
  });

  it('brings its connections together when only one of them was cut during a failover', async () => {
    const { server, proxy, redis, received, reconnects } = await start();
    const next = await startRedis();
    cleanup.add(() => next.stop());
    proxy.redirect(next.url);
    // Those with subscriptions stay.
    await server.command('CLIENT KILL TYPE normal');
    await until(() => reconnects() === 2, { within: 5000 });
    expect(await redis.publish('news', Buffer.from('together'))).toBe(1);
    await until(() => received.includes('together'));
  });

  it('does not leave a full server, whose scripts still run, and says that it cannot write', async () => {
    const { server, redis, reconnects } = await start();
    await server.command('CONFIG SET maxmemory 1');
    await expect(redis.ping()).rejects.toThrow('the Redis command failed');
    await sleep(1000);
    await redis.run(SCRIPT, ['unknown-key', 'since'], []);
    await server.command('CONFIG SET maxmemory 0');
    await redis.ping();
    expect(reconnects()).toBe(0);
  });

  it('returns the number of subscribers that received a message', async () => {
    const { redis } = await start();
    expect(await redis.publish('news', Buffer.from('x'))).toBe(1);
    expect(await redis.publish('elsewhere', Buffer.from('x'))).toBe(0);
  });
});
