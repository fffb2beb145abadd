import type { SendFrame } from '@footbridge/protocol/frames';
import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { ageKeys } from '@footbridge/testkit/age-keys';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { silentLog } from '@footbridge/testkit/silent-log';
import type { Clock } from '@footbridge/runtime/clock';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { EngineError } from '../../errors.ts';
import { openRedis } from '../../redis/open-redis.ts';
import type { Redis } from '../../redis/open-redis.ts';
import { SendLedger, requestIdsOf } from './send-ledger.ts';
import { NO_STATUSES } from './switchboard.contract.ts';
import { SEND_TIMEOUT_MS, SETTLE_TIMEOUT_MS } from './switchboard.ts';
import type { DisconnectReason, Lease, MacConnection, Switchboard } from './switchboard.ts';
import { createRedisSwitchboard } from './switchboard-redis.ts';

const SECRET = 'a secret that all nodes share';
/** The number of keys of the script that renews one lease. */
const RENEWED_KEYS = 2;

describe.skipIf(!(await hasRedis()))('the Redis switchboard under faults', () => {
  let clock: SkippingClock;
  let server: Awaited<ReturnType<typeof startRedis>>;
  const opened: { close(): Promise<void> }[] = [];
  const boards: Switchboard[] = [];
  beforeEach(async () => {
    clock = new SkippingClock();
    server = await startRedis();
  });
  afterEach(async () => {
    boards.length = 0;
    for (const one of opened.splice(0).toReversed()) await one.close();
    await server.stop();
  });

  async function node(
    options: { secret?: string; clock?: Clock; through?: (redis: Redis) => Redis } = {},
  ): Promise<{ board: Switchboard; redis: Redis; ledger: SendLedger; name: string; warnings: string[] }> {
    const redis = await openRedis(server.url, silentLog);
    const name = newRequestId();
    const warnings: string[] = [];
    const ledger = new SendLedger({ clock: options.clock ?? clock, onDrop: () => {} });
    const through = options.through ?? ((unchanged: Redis) => unchanged);
    const board = await createRedisSwitchboard({
      redis: through(redis),
      nodeSecret: options.secret ?? SECRET,
      clock: options.clock ?? clock,
      log: { ...silentLog, warn: (_fields, message) => void warnings.push(message) },
      ledger,
      node: name,
    });
    opened.push(redis, board);
    boards.push(board);
    return { board, redis, ledger, name, warnings };
  }

  /** Redis's clock does not skip. Every node sends a request afterwards and learns Redis's time again. */
  async function skip(ms: number): Promise<void> {
    await clock.skip(ms);
    for (const board of boards) await board.send(freshLocation(), sendFrame()).catch(() => {});
  }

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
    await server.flush();
    await skip(3000);
    await until(() => a.warnings.length >= 1, { what: 'the loss is noticed' });
    await skip(1200);
    expect(await b.board.send(location, sendFrame())).toBe('written');
    expect(mac.disconnects).toEqual([]);
    await skip(2500);
    expect(await a.board.confirm(lease)).toBe(true);
    await server.flush();
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
    await server.flush();
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

  it('M1 finds the owner again when another node restores a newer lease first', async () => {
    let [isMute, beforeRenewal] = [true, async () => {}];
    const withoutFirstNotices = (redis: Redis): Redis => ({
      ...redis,
      publish: async (...message) => (isMute ? 1 : redis.publish(...message)),
    });
    const restoringLast = (redis: Redis): Redis => ({
      ...redis,
      run: async (script, keys, ...rest) => {
        if (keys.length === RENEWED_KEYS) await beforeRenewal();
        return redis.run(script, keys, ...rest);
      },
    });
    const [a, b] = [await node({ through: restoringLast }), await node({ through: withoutFirstNotices })];
    const location = freshLocation();
    await bound(a.board, location, connect('device-1'));
    const newer = await bound(b.board, location, connect('device-2'));
    isMute = false;
    await server.flush();
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
    server.pause();
    await expect(board.confirm(lease)).rejects.toThrow(/did not respond/);
    expect(board.isCurrent(lease)).toBe(true);
    server.resume();
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

  it('M1 waits with a frame for a Mac that is changing nodes', async () => {
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
    await server.restart();
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
    await server.kill();
    expect(await board.send(location, sendFrame())).toBe('written');
    await expect(board.send(freshLocation(), sendFrame())).rejects.toThrow(/Redis is unavailable/);
    await skip(9000);
    expect(mac.disconnects).toEqual(['fenced']);
    await expect(board.send(location, sendFrame())).rejects.toThrow(/Redis is unavailable/);
    await server.restart();
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
    server.pause();
    await expect(a.board.send(location, sendFrame())).rejects.toThrow(/Redis is unavailable/);
    server.resume();
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
          if (!stall || call[1].length !== 1) return response;
          stall = false;
          // The response is in flight, another Mac binds, then this process stalls.
          newer = connect('device-2');
          await bound(b.board, location, newer);
          clock.freeze(700);
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

  it('M10 writes frames of a node that was frozen as soon as it hands them over', async () => {
    const undelivered: (() => void)[] = [];
    let isFrozen = false;
    const frozen = (redis: Redis): Redis => ({
      ...redis,
      subscribe: (channel, listener) =>
        redis.subscribe(channel, (message) => {
          if (isFrozen) undelivered.push(() => listener(message));
          else listener(message);
        }),
    });
    // Its clock stands still: a frozen node makes no copies either.
    const stopped = new SkippingClock({ stopped: true });
    const [a, b] = [await node({ through: frozen, clock: stopped }), await node()];
    const location = freshLocation();
    await settledBind(a.board, location, connect('device-1'));
    isFrozen = true;
    const [first, second] = [sendFrame(), sendFrame()];
    const unconfirmed = a.ledger.open(location, 'device-1');
    a.ledger.add(unconfirmed, first, 100);
    a.ledger.add(unconfirmed, second, 100);
    const mac = connect('device-1');
    const outcome = await b.board.bind(location, mac);
    await until(() => undelivered.length > 0);
    await skip(1000);
    if (outcome.kind === 'bound') await outcome.unconfirmed;
    expect(mac.repeated).toEqual([]);
    isFrozen = false;
    for (const deliver of undelivered) deliver();
    await until(() => mac.repeated.length > 0);
    expect(mac.repeated).toEqual([first.requestId, second.requestId]);
    expect(b.ledger.size).toBe(2);
    await until(() => a.ledger.size === 0);
  });

  describe('when Redis lost the name of the node that keeps unconfirmed frames', () => {
    const location = freshLocation();
    const frames = [sendFrame(), sendFrame()];

    async function nodeWithFrames(through = (redis: Redis) => redis) {
      const keeper = await node({ through });
      const lease = await bound(keeper.board, location, connect('device-1'));
      const unconfirmed = keeper.ledger.open(location, 'device-1');
      for (const frame of frames) keeper.ledger.add(unconfirmed, frame, 100);
      keeper.ledger.close(unconfirmed);
      await keeper.board.release(lease);
      return keeper;
    }

    it('M10 the node that binds the device asks all nodes for them', async () => {
      const keeper = await nodeWithFrames();
      const [other, here] = [await node(), await node()];
      await server.flush();
      await settledBind(here.board, location, connect('device-1'));
      expect(requestIdsOf(here.ledger.handOver(location, 'device-1'))).toEqual(idsOf(frames));
      await until(() => keeper.ledger.size === 0);
      expect(other.ledger.size).toBe(0);
    });

    it('M10 their node offers them until the node of the device has them', async () => {
      let isCutOff = true;
      const keeper = await nodeWithFrames((redis) => ({
        ...redis,
        publish: (channel, message) =>
          isCutOff ? Promise.reject(new EngineError('redis', 'cut off')) : redis.publish(channel, message),
        subscribe: (channel, listener) =>
          redis.subscribe(channel, (message) => (isCutOff ? undefined : listener(message))),
      }));
      const here = await node();
      await server.flush();
      const mac = connect('device-1');
      await bound(here.board, location, mac);
      await skip(1000);
      expect(here.ledger.size).toBe(0);
      isCutOff = false;
      await until(async () => {
        await skip(1000);
        return mac.repeated.length > 0;
      });
      expect(mac.repeated).toEqual(idsOf(frames));
      await until(() => keeper.ledger.size === 0);
    });

    it('M10 no other device gets them', async () => {
      const keeper = await nodeWithFrames();
      const here = await node();
      await server.flush();
      const mac = connect('device-2');
      await settledBind(here.board, location, mac);
      await skip(4000);
      expect([mac.repeated, here.ledger.size, keeper.ledger.size]).toEqual([[], 0, 2]);
    });
  });

  it('M10 asks no node when Redis knows that none keeps frames of the device', async () => {
    const published: Published[] = [];
    const [a, b] = [await node({ through: recording(published) }), await node()];
    const location = freshLocation();
    await a.board.release(await bound(a.board, location, connect('device-1')));
    await until(() => published.length === 1, { what: 'the first bind asks' });
    await a.board.release(await bound(a.board, location, connect('device-1')));
    await bound(a.board, location, connect('device-1'));
    await b.board.send(location, sendFrame());
    const others = published.filter(({ channel }) => channel !== `footbridge:node:${b.name}`);
    expect(others).toHaveLength(1);
  });

  it('A4 knows that the calls of former owners have ended when they say so', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    for (const { board } of [a, b, a, a])
      expect(await board.settled(await bound(board, location, connect('device-1')))).toBe(0);
  });

  it('A4 asks the former owner also when it bound the location long ago', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    const asked: string[] = [];
    a.board.keepStatuses({
      ...NO_STATUSES,
      settle: async (locationId) => asked.push(locationId) - 1,
    });
    const lease = await bound(a.board, location, connect('device-1'));
    await ageKeys(server.url, '*:bound', 600_000);
    await a.board.release(lease);
    await b.board.settled(await bound(b.board, location, connect('device-1')));
    expect(asked).toEqual([location]);
  });

  it('A4 reports to the next owner how long a call of the former owner may still arrive at the CRM', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    a.board.keepStatuses({ ...NO_STATUSES, settle: async () => 7000 });
    await bound(a.board, location, connect('device-1'));
    const lease = await bound(b.board, location, connect('device-1'));
    expect(await b.board.settled(lease)).toBeGreaterThan(0);
    await skip(7000);
    expect(await b.board.settled(lease)).toBe(0);
  });

  it('A4 does not wait for a former owner that is gone, but for its calls', async () => {
    const [gone, here, next] = [await node(), await node(), await node()];
    const location = freshLocation();
    await bound(gone.board, location, connect('device-1'));
    await gone.redis.close();
    const lease = await bound(here.board, location, connect('device-1'));
    const leftMs = await here.board.settled(lease);
    expect(leftMs).toBeGreaterThan(SETTLE_TIMEOUT_MS / 2);
    await skip(5000);
    const later = await next.board.settled(await bound(next.board, location, connect('device-1')));
    expect(later).toBeGreaterThan(0);
    expect(later).toBeLessThan(leftMs - 4999);
    await skip(SETTLE_TIMEOUT_MS);
    expect(await here.board.settled(lease)).toBe(0);
  });

  it('A5 reports to every next owner, for ten minutes, that statuses of a lost owner may be missing', async () => {
    const [gone, here, next] = [await node(), await node(), await node()];
    const location = freshLocation();
    const first = await bound(gone.board, location, connect('device-1'));
    expect(gone.board.mayLackStatuses(first)).toBe(false);
    await gone.redis.close();
    const second = await bound(here.board, location, connect('device-1'));
    await here.board.settled(second);
    expect(here.board.mayLackStatuses(second)).toBe(true);
    await skip(60_000);
    const third = await bound(next.board, location, connect('device-1'));
    await next.board.settled(third);
    expect(next.board.mayLackStatuses(third)).toBe(true);
    await skip(541_000);
    expect(next.board.mayLackStatuses(third)).toBe(false);
  });

  it('A4 waits for a former owner that is silent at most 20 s', async () => {
    const [silent, here] = [await node({ through: deaf }), await node()];
    const location = freshLocation();
    await bound(silent.board, location, connect('device-1'));
    const settling = here.board.settled(await bound(here.board, location, connect('device-1')));
    expect(await clock.skipThrough(settling)).toBe(0);
  });

  it('A5 does not know whether a message is under way when a node does not respond, or Redis', async () => {
    const [a, silent] = [await node(), await node({ through: deaf })];
    const isUnderWay = () => clock.skipThrough(a.board.isUnderWayElsewhere('loc1', 'm1'));
    expect(await isUnderWay()).toBe('unknown');
    await silent.redis.close();
    await until(async () => (await isUnderWay()) === false);
    await a.redis.close();
    expect(await isUnderWay()).toBe('unknown');
  });

  it('A5 does not wait for a node that rejected a message and is gone', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    expect(await a.board.isUnderWayElsewhere(location, 'm1')).toBe(false);
    await a.redis.close();
    const lease = await bound(b.board, location, connect('device-1'));
    expect(await b.board.statusElsewhere('m1', lease)).toBeUndefined();
  });

  it('ignores a bus message that was not sealed with the node secret', async () => {
    const published: Published[] = [];
    const foreign = { secret: 'another secret entirely', through: recording(published) };
    const [a, stranger] = [await node(), await node(foreign)];
    const location = freshLocation();
    const mac = connect('device-1');
    await bound(a.board, location, mac);
    await a.redis.publish(`footbridge:node:${a.name}`, Buffer.from('{"type":"disconnect"}'));
    await a.redis.publish(`footbridge:node:${a.name}`, Buffer.alloc(200));
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

  it('gives every key an expiry, and shows no location in a key', async () => {
    const a = await node();
    const location = freshLocation();
    for (const device of ['device-1', 'device-2', 'device-1', 'device-2', 'device-1'])
      await a.board.bind(location, connect(device));
    const { createClient } = await import('@redis/client');
    const client = createClient({ url: server.url });
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

interface Published {
  readonly channel: string;
  readonly message: Buffer;
}

const recording =
  (published: Published[]) =>
  (redis: Redis): Redis => ({
    ...redis,
    publish: (channel, message) => {
      published.push({ channel, message });
      return redis.publish(channel, message);
    },
  });

/** Subscribed, but receives no messages. */
const deaf = (redis: Redis): Redis => ({
  ...redis,
  subscribe: (channel) => redis.subscribe(channel, () => {}),
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

const withoutSubscriptions = (redis: Redis): Redis => ({ ...redis, subscribe: async () => {} });

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

interface TestConnection extends MacConnection {
  readonly disconnects: DisconnectReason[];
  readonly written: number;
  readonly repeated: string[];
}

function connect(deviceId: string): TestConnection {
  const disconnects: DisconnectReason[] = [];
  const repeated: string[] = [];
  let written = 0;
  return {
    repeated,
    repeat: (entries) => void repeated.push(...entries.map(({ frame }) => frame.requestId)),
    sessionId: newRequestId(),
    deviceId,
    disconnects,
    get written() {
      return written;
    },
    write() {
      written++;
      return 'written';
    },
    disconnect: (reason) => void disconnects.push(reason),
  };
}

const idsOf = (frames: readonly SendFrame[]) => frames.map(({ requestId }) => requestId);

async function bound(board: Switchboard, location: LocationId, on: MacConnection): Promise<Lease> {
  const outcome = await board.bind(location, on);
  if (outcome.kind !== 'bound') throw new Error('not bound');
  return outcome.lease;
}

/** Binds and waits for the unconfirmed frames of the device. */
async function settledBind(board: Switchboard, location: LocationId, on: MacConnection): Promise<void> {
  const outcome = await board.bind(location, on);
  if (outcome.kind === 'bound') await outcome.unconfirmed;
}

function freshLocation(): LocationId {
  const id = asLocationId(`loc-${newRequestId()}`);
  if (id === undefined) throw new Error('not a location');
  return id;
}
