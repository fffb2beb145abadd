import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import type { Redis } from '../../platform/redis/open-redis.ts';
import {
  bound,
  connect,
  freshLocation,
  recording,
  settledBind,
  useRedisNodes,
  withoutSubscriptions,
} from './switchboard-redis-faults.fixture.ts';
import type { Published } from './switchboard-redis-faults.fixture.ts';
import { SEND_TIMEOUT_MS } from './switchboard.ts';

describe.skipIf(!(await hasRedis()))('the sends of the Redis switchboard under faults', () => {
  const fixture = useRedisNodes();
  const { node, skip } = fixture;

  it('M1 a send waits for a Mac that is changing nodes', async () => {
    const senderClock = new FakeClock();
    const published: Published[] = [];
    const [crashed, b, sender] = [
      await node(),
      await node(),
      await node({ clock: senderClock, through: recording(published) }),
    ];
    const location = freshLocation();
    await bound(crashed.board, location, connect('device-1'));
    // A crash: the lease stays, but the node does not listen any more.
    await crashed.redis.close();
    const sending = sender.board.send(location, sendFrame());
    await until(() => published.length === 1);
    const mac = connect('device-1');
    await bound(b.board, location, mac);
    let outcome: unknown;
    void sending.then((sent) => (outcome = sent));
    await until(async () => {
      await senderClock.advance(1);
      return outcome;
    });
    expect(outcome).toBe('written');
    expect(mac.written).toBe(1);
  });

  it('M1 recovers from a restart of Redis', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    const mac = connect('device-1');
    await bound(a.board, location, mac);
    await fixture.server.restart();
    await until(
      async () => (await b.board.send(location, sendFrame()).catch(() => 'unavailable')) === 'written',
      {
        every: 100,
      },
    );
    expect(mac.disconnects).toEqual([]);
  });

  it('M1 writes to a local Mac until its lease expires while Redis is down, then disconnects it', async () => {
    const { board } = await node();
    const location = freshLocation();
    const mac = connect('device-1');
    await bound(board, location, mac);
    await fixture.server.kill();
    expect(await board.send(location, sendFrame())).toBe('written');
    await expect(board.send(freshLocation(), sendFrame())).rejects.toThrow(/Redis is unavailable/);
    await skip(9000);
    expect(mac.disconnects).toEqual(['fenced']);
    await expect(board.send(location, sendFrame())).rejects.toThrow(/Redis is unavailable/);
    await fixture.server.restart();
    await until(
      async () => (await board.send(location, sendFrame()).catch(() => 'unavailable')) === 'not_connected',
      {
        every: 100,
      },
    );
  });

  it('M1 writes nothing while Redis only does not respond: this node may be partitioned', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    const [old, newer] = [connect('device-1'), connect('device-2')];
    await bound(a.board, location, old);
    fixture.server.pause();
    await expect(a.board.send(location, sendFrame())).rejects.toThrow(/Redis is unavailable/);
    fixture.server.resume();
    await until(() => bound(b.board, location, newer).catch(() => undefined), { every: 100 });
    expect(await a.board.send(location, sendFrame())).toBe('written');
    expect([old.written, newer.written]).toEqual([0, 1]);
  });

  it('M1 ignores a response about the owner that was produced before this process stalled', async () => {
    let stall = false;
    let newer = connect('device-2');
    const b = await node();
    const a = await node({
      through: (redis) => ({
        ...redis,
        run: async (...call) => {
          const response = await redis.run(...call);
          if (!stall || call[1][1] !== 'since') return response;
          stall = false;
          // The response is in flight, another Mac binds, then this process stalls.
          newer = connect('device-2');
          await bound(b.board, location, newer);
          fixture.clock.freeze(700);
          return response;
        },
      }),
    });
    const location = freshLocation();
    const old = connect('device-1');
    const lease = await bound(a.board, location, old);
    stall = true;
    expect(await a.board.confirm(lease)).toBe(false);
    const again = await bound(a.board, location, old);
    stall = true;
    expect(await a.board.send(location, sendFrame())).toBe('written');
    expect([old.written, newer.written, again.epoch > lease.epoch]).toEqual([0, 1, true]);
  });

  it('M1 reports an owner as not connected within two seconds when its node does not listen', async () => {
    const [stalled, sender] = [await node({ through: withoutSubscriptions }), await node()];
    const location = freshLocation();
    const mac = connect('device-1');
    await bound(stalled.board, location, mac);
    expect(await sender.board.send(location, sendFrame())).toBe('not_connected');
    expect(mac.written).toBe(0);
    expect(SEND_TIMEOUT_MS).toBeLessThan(2000);
  });

  it('M1 writes nothing on a node that handles a request after its deadline', async () => {
    const undelivered: (() => void)[] = [];
    let isLate = false;
    const late = (redis: Redis): Redis => ({
      ...redis,
      subscribe: (channel, listener) =>
        redis.subscribe(channel, (message) => {
          if (isLate) undelivered.push(() => listener(message));
          else listener(message);
        }),
    });
    const [stalled, sender] = [await node({ through: late }), await node()];
    const location = freshLocation();
    const mac = connect('device-1');
    await settledBind(stalled.board, location, mac);
    isLate = true;
    // Without a result it is unknown whether the frame was written, so "not connected" would be wrong.
    await expect(sender.board.send(location, sendFrame())).rejects.toThrow(/did not respond/);
    expect(undelivered).toHaveLength(1);
    for (const deliver of undelivered) deliver();
    expect(mac.written).toBe(0);
  });

  it('ignores a bus message that was not sealed with the node secret', async () => {
    const published: Published[] = [];
    const foreign = { secret: 'another secret entirely', through: recording(published) };
    const [a, stranger] = [await node(), await node(foreign)];
    const location = freshLocation();
    const mac = connect('device-1');
    await bound(a.board, location, mac);
    await a.redis.publish(`node:${a.name}`, Buffer.from('{"type":"disconnect"}'));
    await a.redis.publish(`node:${a.name}`, Buffer.alloc(200));
    const sending = expect(stranger.board.send(location, sendFrame())).rejects.toThrow(/did not respond/);
    await until(() => published.length === 1);
    await skip(SEND_TIMEOUT_MS);
    await sending;
    expect([mac.disconnects, mac.written]).toEqual([[], 0]);
  });

  it('writes a frame once when a sealed request is replayed', async () => {
    const recorded: Published[] = [];
    const [a, sender] = [await node(), await node({ through: recording(recorded) })];
    const location = freshLocation();
    const mac = connect('device-1');
    await bound(a.board, location, mac);
    expect(await sender.board.send(location, sendFrame())).toBe('written');
    for (const { channel, message } of recorded) await a.redis.publish(channel, message);
    // Handled after all earlier messages.
    expect(await sender.board.send(location, sendFrame())).toBe('written');
    expect(mac.written).toBe(2);
  });

  it('writes a frame once when its request arrives twice while the Mac is not ready', async () => {
    const [a, sender] = [await node({ through: hearingTwice }), await node()];
    const location = freshLocation();
    const unready = Promise.withResolvers<void>();
    const mac = { ...connect('device-1'), ready: unready.promise as Promise<void> | undefined, written: 0 };
    mac.write = () => {
      mac.written++;
      return 'written';
    };
    await bound(a.board, location, mac);
    const outcome = sender.board.send(location, sendFrame());
    // The response to this call shows that the request was handled.
    await sender.board.boundMacs();
    mac.ready = undefined;
    unready.resolve();
    expect(await outcome).toBe('written');
    await sender.board.boundMacs();
    expect(mac.written).toBe(1);
  });
});

/** Receives every message twice. */
const hearingTwice = (redis: Redis): Redis => ({
  ...redis,
  subscribe: (channel, listener) =>
    redis.subscribe(channel, (message) => {
      listener(message);
      listener(message);
    }),
});
