import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type { SendFrame } from '@footbridge/protocol/frames';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { until } from '@footbridge/testkit/until';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Clock } from '../../clock.ts';
import { EngineError } from '../../errors.ts';
import { FakeClock } from '../../fake-clock.ts';
import { openRedis } from '../../redis/open-redis.ts';
import type { Redis } from '../../redis/open-redis.ts';
import { SkippingClock } from '../../skipping-clock.ts';
import type { CutReason, Lease, Line, Switchboard } from './switchboard.ts';
import { ANSWER_MS, createRedisSwitchboard } from './switchboard-redis.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const SECRET = 'a secret of all nodes';

describe.skipIf(!(await hasRedis()))('the switchboard when things break', () => {
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
  ): Promise<{ board: Switchboard; redis: Redis; name: string; warnings: string[] }> {
    const redis = await openRedis(server.url, silent);
    const name = newRequestId();
    const warnings: string[] = [];
    const through = options.through ?? ((same: Redis) => same);
    const board = await createRedisSwitchboard({
      redis: through(redis),
      nodeSecret: options.secret ?? SECRET,
      clock: options.clock ?? clock,
      log: { ...silent, warn: (_fields, message) => void warnings.push(message) },
      node: name,
    });
    opened.push(redis, board);
    boards.push(board);
    return { board, redis, name, warnings };
  }

  /** Redis does not skip with us: every node that reaches it learns its time again. */
  async function skip(ms: number): Promise<void> {
    await clock.skip(ms);
    for (const board of boards) await board.send(freshLocation(), frame()).catch(() => {});
  }

  it('M1 a Mac displaced while the notice is lost acts no more: its number is stale', async () => {
    const [a, b] = [await node({ through: deaf }), await node()];
    const location = freshLocation();
    const [old, young] = [line('device-1'), line('device-2')];
    const before = await bound(a.board, location, old);
    const after = await bound(b.board, location, young);
    expect(after.epoch).toBeGreaterThan(before.epoch);
    expect(await a.board.confirm(before)).toBe(false);
    expect(old.cuts).toEqual(['displaced']);
    expect(old.written).toBe(0);
  });

  it('M1 a webhook at the old node reaches the new owner though the notice was lost', async () => {
    const withoutCuts = (redis: Redis): Redis => ({ ...redis, publish: async () => 1 });
    const a = await node();
    const b = await node();
    const c = await node({ through: withoutCuts });
    const location = freshLocation();
    const [old, young] = [line('device-1'), line('device-2')];
    await bound(a.board, location, old);
    await bound(c.board, location, line('device-3'));
    await bound(b.board, location, young);
    expect(await a.board.send(location, frame())).toBe('written');
    expect([old.written, young.written]).toEqual([0, 1]);
  });

  it('M1 a flushed Redis: the same Mac has its location back within seconds and epochs never go back', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    const mac = line('device-1');
    const lease = await bound(a.board, location, mac);
    await server.flush();
    await skip(3000);
    await until(() => a.warnings.length >= 1, { what: 'the loss is noticed' });
    await skip(1200);
    expect(await b.board.send(location, frame())).toBe('written');
    expect(mac.cuts).toEqual([]);
    await skip(2500);
    expect(await a.board.confirm(lease)).toBe(true);
    await server.flush();
    const next = await bound(b.board, location, line('device-2'));
    expect(next.epoch).toBeGreaterThan(lease.epoch);
    await skip(3000);
    await until(() => mac.cuts.length === 1);
    expect(mac.cuts).toEqual(['displaced']);
  });

  it('M1 what Redis forgot comes back to the newest number, whoever is faster to ask', async () => {
    const [a, b] = [await node({ through: deaf }), await node()];
    const location = freshLocation();
    const [old, young] = [line('device-1'), line('device-2')];
    const stale = await bound(a.board, location, old);
    const lease = await bound(b.board, location, young);
    await server.flush();
    // The deaf node does not know that it lost, so it has its lease back first; that proves nothing yet, and nothing is written to it.
    const sending = expect(a.board.send(location, frame())).rejects.toThrow(/does not answer/);
    await until(() => old.cuts.length === 1);
    await skip(ANSWER_MS);
    await sending;
    expect(old.written).toBe(0);
    expect(await a.board.confirm(stale)).toBe(false);
    expect(old.cuts).toEqual(['displaced']);
    await skip(3500);
    expect(await b.board.confirm(lease)).toBe(true);
    expect(young.cuts).toEqual([]);
  });

  it('M1 nobody confirms a lease while Redis is away', async () => {
    const { board } = await node();
    const lease = await bound(board, freshLocation(), line('device-1'));
    server.pause();
    await expect(board.confirm(lease)).rejects.toThrow(/did not answer/);
    expect(board.isCurrent(lease)).toBe(true);
    server.resume();
    await until(() => board.confirm(lease).catch(() => false), { every: 100 });
  });

  it('M1 a bind that reaches Redis after its Mac was sent away takes nothing from the next owner', async () => {
    const through = new Held();
    const [a, b] = [await node({ through: (redis) => through.wrap(redis) }), await node()];
    const location = freshLocation();
    through.hold();
    await expect(a.board.bind(location, line('device-1'))).rejects.toThrow(/did not answer/);
    const young = line('device-1');
    const lease = await bound(b.board, location, young);
    await through.letGo();
    expect(await b.board.confirm(lease)).toBe(true);
    expect(await a.board.send(location, frame())).toBe('written');
    expect(young).toMatchObject({ written: 1, cuts: [] });
  });

  it('M1 a bind whose answer is lost leaves nobody behind who is looked for in vain', async () => {
    let lossy = false;
    const a = await node({
      through: (redis) => ({
        ...redis,
        run: async (...call) => {
          const answer = await redis.run(...call);
          if (lossy && call[1].length === 4) throw new EngineError('redis', 'the answer was lost');
          return answer;
        },
      }),
    });
    const b = await node();
    // Its time stands still: it can wait for nothing.
    const impatient = await node({ clock: new FakeClock() });
    const location = freshLocation();
    lossy = true;
    await expect(a.board.bind(location, line('device-1'))).rejects.toThrow(/was lost/);
    await until(async () => (await b.board.send(location, frame())) === 'not_connected');
    expect(await impatient.board.send(location, frame())).toBe('not_connected');
  });

  it('M1 a line that comes while the node closes is not kept', async () => {
    const a = await node();
    const b = await node();
    const location = freshLocation();
    const binding = a.board.bind(location, line('device-1'));
    const closing = a.board.close();
    await expect(binding).rejects.toThrow(/closed/);
    await closing;
    await until(async () => (await b.board.send(location, frame())) === 'not_connected');
  });

  it('M1 a webhook waits for a Mac that is just changing nodes', async () => {
    const itsClock = new FakeClock();
    const published: Published[] = [];
    const [dead, b, asking] = [
      await node(),
      await node(),
      await node({ clock: itsClock, through: recording(published) }),
    ];
    const location = freshLocation();
    await bound(dead.board, location, line('device-1'));
    // Gone without a word: the lease stays, but nobody listens there any more.
    await dead.redis.close();
    const sending = asking.board.send(location, frame());
    await until(() => published.length === 1);
    const mac = line('device-1');
    await bound(b.board, location, mac);
    let outcome: unknown;
    void sending.then((sent) => (outcome = sent));
    await until(async () => {
      await itsClock.advance(1);
      return outcome;
    });
    expect(outcome).toBe('written');
    expect(mac.written).toBe(1);
  });

  it('M1 a restarted Redis is survived without a restart of ours', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    const mac = line('device-1');
    await bound(a.board, location, mac);
    await server.restart();
    await until(async () => (await b.board.send(location, frame()).catch(() => 'away')) === 'written', {
      every: 100,
    });
    expect(mac.cuts).toEqual([]);
  });

  it('M1 while Redis is down a local Mac is served until its lease ends, then it is let go', async () => {
    const { board } = await node();
    const location = freshLocation();
    const mac = line('device-1');
    await bound(board, location, mac);
    await server.kill();
    expect(await board.send(location, frame())).toBe('written');
    await expect(board.send(freshLocation(), frame())).rejects.toThrow(/Redis is away/);
    await skip(9000);
    expect(mac.cuts).toEqual(['fenced']);
    await expect(board.send(location, frame())).rejects.toThrow(/Redis is away/);
    await server.restart();
    await until(async () => (await board.send(location, frame()).catch(() => 'away')) === 'not_connected', {
      every: 100,
    });
  });

  it('M1 while Redis is only silent nothing is written: it may be this node that is cut off, and another Mac may be there', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    const [old, young] = [line('device-1'), line('device-2')];
    await bound(a.board, location, old);
    server.pause();
    await expect(a.board.send(location, frame())).rejects.toThrow(/Redis is away/);
    server.resume();
    await until(() => bound(b.board, location, young).catch(() => undefined), { every: 100 });
    expect(await a.board.send(location, frame())).toBe('written');
    expect([old.written, young.written]).toEqual([0, 1]);
  });

  it('M1 what Redis said of an owner before this node was frozen counts no more', async () => {
    let freeze = false;
    const young = line('device-2');
    const b = await node();
    const a = await node({
      through: (redis) => ({
        ...redis,
        run: async (...call) => {
          const answer = await redis.run(...call);
          if (!freeze || call[1].length !== 1) return answer;
          freeze = false;
          // The answer is on its way; another Mac comes; then this process stands still.
          await bound(b.board, location, young);
          clock.freeze(700);
          return answer;
        },
      }),
    });
    const location = freshLocation();
    const old = line('device-1');
    const lease = await bound(a.board, location, old);
    freeze = true;
    expect(await a.board.confirm(lease)).toBe(false);
    const again = await bound(a.board, location, old);
    freeze = true;
    expect(await a.board.send(location, frame())).toBe('written');
    expect([old.written, young.written, again.epoch > lease.epoch]).toEqual([0, 1, true]);
  });

  it('M1 an owner whose node listens to nobody counts as not connected, within two seconds', async () => {
    const [frozen, asking] = [await node({ through: deaf }), await node()];
    const location = freshLocation();
    const mac = line('device-1');
    await bound(frozen.board, location, mac);
    expect(await asking.board.send(location, frame())).toBe('not_connected');
    expect(mac.written).toBe(0);
    expect(ANSWER_MS).toBeLessThan(2000);
  });

  it('M1 an owner that wakes up after the asker gave up writes nothing', async () => {
    const unheard: (() => void)[] = [];
    const late = (redis: Redis): Redis => ({
      ...redis,
      subscribe: (channel, listener) =>
        redis.subscribe(channel, (message) => void unheard.push(() => listener(message))),
    });
    const [frozen, asking] = [await node({ through: late }), await node()];
    const location = freshLocation();
    const mac = line('device-1');
    await bound(frozen.board, location, mac);
    // Silence is no answer: whether the frame is on the socket is not known, so it is no 404 either.
    await expect(asking.board.send(location, frame())).rejects.toThrow(/does not answer/);
    expect(unheard).toHaveLength(1);
    for (const hear of unheard) hear();
    expect(mac.written).toBe(0);
  });

  it('a message that no node of ours sealed is ignored', async () => {
    const published: Published[] = [];
    const foreign = { secret: 'another secret entirely', through: recording(published) };
    const [a, stranger] = [await node(), await node(foreign)];
    const location = freshLocation();
    const mac = line('device-1');
    await bound(a.board, location, mac);
    await a.redis.publish(`footbridge:node:${a.name}`, Buffer.from('{"type":"cut"}'));
    await a.redis.publish(`footbridge:node:${a.name}`, Buffer.alloc(200));
    const sending = expect(stranger.board.send(location, frame())).rejects.toThrow(/does not answer/);
    await until(() => published.length === 1);
    await skip(ANSWER_MS);
    await sending;
    expect([mac.cuts, mac.written]).toEqual([[], 0]);
  });

  it('a sealed question that is played again is not answered twice', async () => {
    const recorded: Published[] = [];
    const [a, asking] = [await node(), await node({ through: recording(recorded) })];
    const location = freshLocation();
    const mac = line('device-1');
    await bound(a.board, location, mac);
    expect(await asking.board.send(location, frame())).toBe('written');
    for (const { channel, message } of recorded) await a.redis.publish(channel, message);
    // Heard after all that was said before it.
    expect(await asking.board.send(location, frame())).toBe('written');
    expect(mac.written).toBe(2);
  });

  it('no key stays for good, and none shows a location', async () => {
    const a = await node();
    const location = freshLocation();
    for (const device of ['device-1', 'device-2', 'device-1', 'device-2', 'device-1'])
      await a.board.bind(location, line(device));
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

const deaf = (redis: Redis): Redis => ({ ...redis, subscribe: async () => {} });

/** A way to Redis on which scripts may be held up and delivered much later, as a network does that comes back. */
class Held {
  #held: (() => Promise<unknown>)[] | undefined;

  wrap(redis: Redis): Redis {
    return {
      ...redis,
      run: (...call) => {
        const go = () => redis.run(...call);
        if (this.#held === undefined) return go();
        this.#held.push(go);
        return new Promise((_resolve, reject) => {
          const late = () => reject(new EngineError('redis', 'Redis did not answer'));
          setTimeout(late, 1000);
        });
      },
    };
  }

  hold(): void {
    this.#held = [];
  }

  async letGo(): Promise<void> {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const go of held) await go();
  }
}

interface TestLine extends Line {
  readonly cuts: CutReason[];
  readonly written: number;
}

function line(deviceId: string): TestLine {
  const cuts: CutReason[] = [];
  let written = 0;
  return {
    sessionId: newRequestId(),
    deviceId,
    cuts,
    get written() {
      return written;
    },
    write() {
      written++;
      return 'written';
    },
    cut: (reason) => void cuts.push(reason),
  };
}

async function bound(board: Switchboard, location: LocationId, on: Line): Promise<Lease> {
  const outcome = await board.bind(location, on);
  if (outcome.kind !== 'bound') throw new Error('not bound');
  return outcome.lease;
}

function freshLocation(): LocationId {
  const id = asLocationId(`loc-${newRequestId()}`);
  if (id === undefined) throw new Error('not a location');
  return id;
}

const frame = (): SendFrame => ({
  type: 'send',
  requestId: newRequestId(),
  messageId: 'm-1',
  contactId: 'c-1',
  phone: '+15555550100',
  message: 'Hi',
  attachments: [],
  channel: 'imessage',
});
