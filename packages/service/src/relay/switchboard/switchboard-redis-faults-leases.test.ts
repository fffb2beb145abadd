import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { canStepClocks } from '@footbridge/testkit/servers/stepped-clock';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import type { Redis } from '../../platform/redis/open-redis.ts';
import {
  bound,
  connect,
  freshLocation,
  useRedisNodes,
  withoutSubscriptions,
} from './switchboard-redis-faults.fixture.ts';
import { SEND_TIMEOUT_MS } from './switchboard.ts';

const canStep = (await hasRedis()) && (await canStepClocks());

describe.skipIf(!(await hasRedis()))('the leases of the Redis switchboard under faults', () => {
  const fixture = useRedisNodes();
  const { node, skip } = fixture;

  it('M1 fences a displaced Mac by its epoch when the notice is lost', async () => {
    const [a, b] = [await node({ through: withoutSubscriptions }), await node()];
    const location = freshLocation();
    const [old, newer] = [connect('device-1'), connect('device-2')];
    const before = await bound(a.board, location, old);
    const after = await bound(b.board, location, newer);
    expect(after.epoch).toBeGreaterThan(before.epoch);
    expect(await a.board.confirm(before)).toBe(false);
    expect(old.disconnects).toEqual(['displaced']);
    expect(old.written).toBe(0);
  });

  it('M1 writes to the new owner from the old node when the notice was lost', async () => {
    const withoutNotices = (redis: Redis): Redis => ({ ...redis, publish: async () => 1 });
    const a = await node();
    const b = await node();
    const c = await node({ through: withoutNotices });
    const location = freshLocation();
    const [old, newer] = [connect('device-1'), connect('device-2')];
    await bound(a.board, location, old);
    await bound(c.board, location, connect('device-3'));
    await bound(b.board, location, newer);
    expect(await a.board.send(location, sendFrame())).toBe('written');
    expect([old.written, newer.written]).toEqual([0, 1]);
  });

  it('M1 restores the lease of a Mac within seconds after a flush, and epochs never go back', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    const mac = connect('device-1');
    const lease = await bound(a.board, location, mac);
    await fixture.server.flush();
    await skip(3000);
    await until(() => a.warnings.length >= 1, { what: 'the loss is noticed' });
    await skip(1200);
    expect(await b.board.send(location, sendFrame())).toBe('written');
    expect(mac.disconnects).toEqual([]);
    await skip(2500);
    expect(await a.board.confirm(lease)).toBe(true);
    await fixture.server.flush();
    const next = await bound(b.board, location, connect('device-2'));
    expect(next.epoch).toBeGreaterThan(lease.epoch);
    await skip(3000);
    await until(() => mac.disconnects.length === 1);
    expect(mac.disconnects).toEqual(['displaced']);
  });

  it('M1 restores the lease with the newest epoch after a flush, whichever node asks first', async () => {
    const [a, b] = [await node({ through: withoutSubscriptions }), await node()];
    const location = freshLocation();
    const [old, newer] = [connect('device-1'), connect('device-2')];
    const stale = await bound(a.board, location, old);
    const lease = await bound(b.board, location, newer);
    await fixture.server.flush();
    // The node without subscriptions missed its displacement and restores its lease first. That proves nothing yet, so nothing is written.
    const sending = expect(a.board.send(location, sendFrame())).rejects.toThrow(/did not respond/);
    await until(() => old.disconnects.length === 1);
    await skip(SEND_TIMEOUT_MS);
    await sending;
    expect(old.written).toBe(0);
    expect(await a.board.confirm(stale)).toBe(false);
    expect(old.disconnects).toEqual(['displaced']);
    await skip(3500);
    expect(await b.board.confirm(lease)).toBe(true);
    expect(newer.disconnects).toEqual([]);
  });

  it('M1 takes no missing lease for a missing Mac until the nodes have restored theirs after a flush', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    await bound(a.board, location, connect('device-1'));
    expect(await b.board.send(freshLocation(), sendFrame())).toBe('not_connected');
    await fixture.server.flush();
    const sent = await Promise.allSettled([
      b.board.send(freshLocation(), sendFrame()),
      b.board.send(location, sendFrame()),
    ]);
    expect(sent).toMatchObject([
      { status: 'rejected', reason: { name: 'OwnerUnknownError' } },
      { status: 'fulfilled', value: 'written' },
    ]);
    await skip(3500);
    expect(await b.board.send(freshLocation(), sendFrame())).toBe('not_connected');
  });

  it('M1 routes to the newest owner after a failover that lost its lease', async () => {
    const [a, b, c] = [await node(), await node(), await node()];
    const location = freshLocation();
    const [old, newer] = [connect('device-1'), connect('device-2')];
    await bound(a.board, location, old);
    await fixture.server.command('SAVE');
    await bound(b.board, location, newer);
    await until(() => old.disconnects.length === 1);
    await fixture.server.kill();
    await fixture.server.restart({ keepData: true });
    const outcomes: unknown[] = [];
    await until(
      async () => {
        const outcome = await c.board.send(location, sendFrame()).catch((error: Error) => error.name);
        outcomes.push(outcome);
        return outcome === 'written';
      },
      { within: 10_000 },
    );
    expect(outcomes).not.toContain('not_connected');
    expect([old.written, newer.written]).toEqual([0, 1]);
  });

  it('M1 binds and routes on a full server', async () => {
    const [a, b] = [await node(), await node()];
    await fixture.server.command('CONFIG SET maxmemory 1');
    await expect(a.board.ping()).rejects.toThrow(EngineError);
    const location = freshLocation();
    const mac = connect('device-1');
    await bound(a.board, location, mac);
    expect(await b.board.send(location, sendFrame())).toBe('written');
  });

  it('M1 finds the owner again when another node restores a newer lease first', async () => {
    let [isMute, beforeRenewal] = [true, async () => {}];
    const withoutFirstNotices = (redis: Redis): Redis => ({
      ...redis,
      publish: async (...message) => (isMute ? 1 : redis.publish(...message)),
    });
    const restoringLast = (redis: Redis): Redis => ({
      ...redis,
      run: async (script, keys, ...rest) => {
        if (keys[1]?.endsWith(':epoch') === true) await beforeRenewal();
        return redis.run(script, keys, ...rest);
      },
    });
    const [a, b] = [await node({ through: restoringLast }), await node({ through: withoutFirstNotices })];
    const location = freshLocation();
    await bound(a.board, location, connect('device-1'));
    const newer = await bound(b.board, location, connect('device-2'));
    isMute = false;
    await fixture.server.flush();
    beforeRenewal = async () => {
      void b.board.confirm(newer).catch(() => false);
      await until(() => b.warnings.length > 0, { what: 'the newer lease is restored' });
    };
    const outcome = await a.board.send(location, sendFrame()).catch((error: unknown) => error);
    expect(outcome).not.toBe('not_connected');
  });

  it('M1 confirms no lease while Redis does not respond', async () => {
    const { board } = await node();
    const lease = await bound(board, freshLocation(), connect('device-1'));
    fixture.server.pause();
    await expect(board.confirm(lease)).rejects.toThrow(/did not respond/);
    expect(board.isCurrent(lease)).toBe(true);
    fixture.server.resume();
    await until(() => board.confirm(lease).catch(() => false), { every: 100 });
  });

  it('M1 leaves the next owner alone when a bind reaches Redis after its deadline', async () => {
    const delay = new DelayedRedis();
    const [a, b] = [await node({ through: (redis) => delay.wrap(redis) }), await node()];
    const location = freshLocation();
    delay.hold();
    await expect(a.board.bind(location, connect('device-1'))).rejects.toThrow(/did not respond/);
    const newer = connect('device-1');
    const lease = await bound(b.board, location, newer);
    await delay.deliver();
    expect(await b.board.confirm(lease)).toBe(true);
    expect(await a.board.send(location, sendFrame())).toBe('written');
    expect(newer).toMatchObject({ written: 1, disconnects: [] });
  });

  it('M1 leaves no orphaned lease when the response to a bind is lost', async () => {
    let lossy = false;
    const a = await node({
      through: (redis) => ({
        ...redis,
        run: async (...call) => {
          const response = await redis.run(...call);
          if (lossy && call[1].length === 6) throw new EngineError('redis', 'the response was lost');
          return response;
        },
      }),
    });
    const b = await node();
    // Its clock does not advance, so it cannot wait.
    const withoutTime = await node({ clock: new FakeClock() });
    const location = freshLocation();
    lossy = true;
    await expect(a.board.bind(location, connect('device-1'))).rejects.toThrow(/was lost/);
    await until(async () => (await b.board.send(location, sendFrame())) === 'not_connected');
    expect(await withoutTime.board.send(location, sendFrame())).toBe('not_connected');
  });

  it('M1 rejects a bind while the node closes', async () => {
    const a = await node();
    const b = await node();
    const location = freshLocation();
    const binding = a.board.bind(location, connect('device-1'));
    const closing = a.board.close();
    await expect(binding).rejects.toThrow(/closed/);
    await closing;
    await until(async () => (await b.board.send(location, sendFrame())) === 'not_connected');
  });

  it('gives every key an expiry, and shows no location in a key', async () => {
    const a = await node();
    const location = freshLocation();
    for (const device of ['device-1', 'device-2', 'device-1', 'device-2', 'device-1'])
      await a.board.bind(location, connect(device));
    const { createClient } = await import('@redis/client');
    const client = createClient({ url: fixture.server.url });
    await client.connect();
    const keys = await client.keys('*');
    expect(keys.length).toBeGreaterThan(2);
    for (const key of keys) {
      expect(await client.pTTL(key)).toBeGreaterThan(0);
      expect(key).not.toContain(location);
    }
    client.destroy();
  });
});

describe.skipIf(!canStep)("the leases of the Redis switchboard when Redis's clock is set", () => {
  const fixture = useRedisNodes({ steppedClock: true });
  const { node } = fixture;

  it.each([-3600, -60, 60, 3600])(
    'M1 finds the Mac after a step of %d s that only the node of the webhook knows',
    async (seconds) => {
      const [a, b] = [await node(), await node()];
      const location = freshLocation();
      const mac = connect('device-1');
      await bound(a.board, location, mac);
      expect(await b.board.send(location, sendFrame())).toBe('written');
      fixture.server.stepClock(seconds);
      const sent = await b.board.send(location, sendFrame()).catch((error: Error) => error.name);
      // Forward: the leases have expired, and their nodes restore them.
      expect(['written', ...(seconds > 0 ? ['OwnerUnknownError'] : [])]).toContain(sent);
      await fixture.skip(1500);
      expect(await b.board.send(location, sendFrame())).toBe('written');
      expect(mac.disconnects).toEqual([]);
    },
  );

  it.each([-3600, 3600])(
    'M1 finds the Mac after a step of %d s that only its node knows',
    async (seconds) => {
      const [a, b] = [await node(), await node()];
      const location = freshLocation();
      const mac = connect('device-1');
      const lease = await bound(a.board, location, mac);
      expect(await b.board.send(location, sendFrame())).toBe('written');
      fixture.server.stepClock(seconds);
      await a.board.confirm(lease);
      expect(await b.board.send(location, sendFrame())).toBe('written');
      expect(mac).toMatchObject({ written: 2, disconnects: [] });
    },
  );

  it('M1 says that the owner is unknown when its node reads each request too late', async () => {
    const late = (redis: Redis): Redis => ({
      ...redis,
      subscribe: (channel, listener) =>
        redis.subscribe(channel, (message) => {
          fixture.clock.freeze(1300);
          listener(message);
        }),
    });
    const [a, b] = [await node({ through: late }), await node()];
    const location = freshLocation();
    const mac = connect('device-1');
    await bound(a.board, location, mac);
    const sent = await b.board.send(location, sendFrame()).catch((error: Error) => error.name);
    expect(sent).not.toBe('not_connected');
  });
});

/** Holds scripts back and delivers them much later, like a network that recovers. */
class DelayedRedis {
  #held: (() => Promise<unknown>)[] | undefined;

  wrap(redis: Redis): Redis {
    return {
      ...redis,
      run: (...call) => {
        const go = () => redis.run(...call);
        if (this.#held === undefined) return go();
        this.#held.push(go);
        return new Promise((_resolve, reject) => {
          const late = () => reject(new EngineError('redis', 'Redis did not respond'));
          setTimeout(late, 1000);
        });
      },
    };
  }

  hold(): void {
    this.#held = [];
  }

  async deliver(): Promise<void> {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const go of held) await go();
  }
}
