import type { SendFrame } from '@footbridge/protocol/frames';
import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { silentLog } from '@footbridge/testkit/silent-log';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { openRedis } from '../../platform/redis/open-redis.ts';
import type { Redis } from '../../platform/redis/open-redis.ts';
import { COPY_AFTER_MS } from './frame-copies-redis.ts';
import { SendLedger, requestIdsOf } from './send-ledger.ts';
import type { MacConnection, Switchboard } from './switchboard.ts';
import { createRedisSwitchboard } from './switchboard-redis.ts';

const DEVICE = 'device-1';

/** A switchboard with a ledger, as a node has them. */
interface TestNode {
  readonly board: Switchboard;
  readonly ledger: SendLedger;
  readonly clock: SkippingClock;
  /** How many frames it has copied to the others. */
  readonly copied: number;
  /** Messages to all nodes. */
  readonly broadcasts: number;
  /** As kill -9 does: nothing is handed over. */
  kill(): Promise<void>;
}

describe.skipIf(!(await hasRedis()))('copies of unconfirmed frames', () => {
  let server: Awaited<ReturnType<typeof startRedis>>;
  let location: LocationId;
  const opened: { close(): Promise<void> }[] = [];
  beforeEach(async () => {
    server = await startRedis();
    // It has been running for a while: a missing lease proves that no Mac is connected.
    await server.command('SET test:since 1');
    location = freshLocation();
  });
  afterEach(async () => {
    for (const one of opened.splice(0).toReversed()) await one.close();
    await server.stop();
  });

  /** Time passes only when the test skips it, on each node separately. */
  async function node(through: (redis: Redis) => Redis = (unchanged) => unchanged): Promise<TestNode> {
    const clock = new SkippingClock({ stopped: true });
    const ledger = new SendLedger({ clock, onDrop: () => {} });
    const redis = await openRedis({ url: server.url, prefix: 'test:', log: silentLog });
    const name = newRequestId();
    let [copied, broadcasts] = [0, 0];
    const counted = through(redis);
    const board = await createRedisSwitchboard({
      redis: {
        ...counted,
        publish(channel, message) {
          if (channel === 'nodes') broadcasts++;
          return counted.publish(channel, message);
        },
      },
      nodeSecret: 'a secret that all nodes share',
      clock,
      log: silentLog,
      ledger,
      node: name,
      onCopied: (frames) => void (copied += frames),
    });
    opened.push(redis, board);
    return {
      board,
      ledger,
      clock,
      get copied() {
        return copied;
      },
      get broadcasts() {
        return broadcasts;
      },
      async kill() {
        await redis.close();
        await isGone(name);
      },
    };
  }

  /** Resolves once Redis has noticed that the connections of the node are closed: until then it counts as a subscriber. */
  async function isGone(name: string): Promise<void> {
    const observer = await openRedis({ url: server.url, prefix: 'test:', log: silentLog });
    await until(async () => (await observer.publish(`node:${name}`, Buffer.alloc(0))) === 0);
    await observer.close();
  }

  /** Connects a device. Resolves once the frames that it has not confirmed are in the ledger of the node. */
  async function connect(to: TestNode, deviceId = DEVICE): Promise<void> {
    const mac = to.ledger.open(location, deviceId);
    const connection: MacConnection = {
      sessionId: newRequestId(),
      deviceId,
      write(frame) {
        if (frame.type === 'send') to.ledger.add(mac, frame, 100);
        return 'written';
      },
      disconnect: () => to.ledger.close(mac),
      repeat: () => {},
    };
    const outcome = await to.board.bind(location, connection);
    if (outcome.kind !== 'bound') throw new Error('not bound');
    await outcome.unconfirmed;
  }

  const send = async (from: TestNode, frame: SendFrame) =>
    expect(await from.board.send(location, frame)).toBe('written');

  const confirm = (at: TestNode, { requestId }: SendFrame) =>
    at.ledger.confirm(at.ledger.open(location, DEVICE), requestId);

  const unconfirmedAt = ({ ledger }: TestNode, deviceId = DEVICE) =>
    requestIdsOf(ledger.handOver(location, deviceId));

  /**
   * The clock of Redis does not skip: a request makes the node read its time again. The response to the first one may precede that to a
   * renewal during the skip, whose bounds of the time are as wide as the skip.
   */
  async function skip(at: TestNode, ms: number): Promise<void> {
    await at.clock.skip(ms);
    for (let request = 0; request < 2; request++)
      expect(await at.board.send(freshLocation(), sendFrame())).toBe('not_connected');
  }

  /** Lets enough time pass without a confirmation for the frames to be copied. */
  async function copyFrames(owner: TestNode, frames: number): Promise<void> {
    await skip(owner, COPY_AFTER_MS + 100);
    await until(() => owner.copied === frames);
  }

  const idsOf = (frames: readonly SendFrame[]) => frames.map(({ requestId }) => requestId);

  it('M10 outlive the node that wrote the frames, in order, and no other device gets them', async () => {
    const [owner, other] = [await node(), await node()];
    await connect(owner);
    const frames = [sendFrame(), sendFrame(), sendFrame()];
    for (const frame of frames) await send(other, frame);
    await copyFrames(owner, 3);
    await owner.kill();
    await connect(other, 'device-2');
    expect(unconfirmedAt(other, 'device-2')).toEqual([]);
    await connect(other);
    expect(unconfirmedAt(other)).toEqual(idsOf(frames));
  });

  it('M10 copies are not made of frames that are confirmed in time', async () => {
    const [owner, other] = [await node(), await node()];
    await connect(owner);
    const before = owner.broadcasts;
    for (const frame of [sendFrame(), sendFrame()]) {
      await send(other, frame);
      await skip(owner, COPY_AFTER_MS - 100);
      expect(confirm(owner, frame)).toBe(true);
    }
    await skip(owner, COPY_AFTER_MS);
    expect([owner.copied, owner.broadcasts - before]).toEqual([0, 0]);
  });

  it.each(['owner', 'other'] as const)(
    'M10 are made before a webhook at the %s is answered, once an earlier frame has copies',
    async (at) => {
      const nodes = { owner: await node(), other: await node() };
      const { owner, other } = nodes;
      await connect(owner);
      const frames = [sendFrame(), sendFrame()];
      await send(other, frames[0] ?? sendFrame());
      await copyFrames(owner, 1);
      await send(nodes[at], frames[1] ?? sendFrame());
      await until(() => owner.copied === 2);
      await owner.kill();
      await connect(other);
      expect(unconfirmedAt(other)).toEqual(idsOf(frames));
    },
  );

  it('M10 copies are deleted once the Mac has confirmed the frames, at any node', async () => {
    const [first, second, third] = [await node(), await node(), await node()];
    await connect(first);
    const frames = [sendFrame(), sendFrame(), sendFrame()] as const;
    for (const frame of frames) await send(first, frame);
    await copyFrames(first, 3);
    confirm(first, frames[0]);
    await skip(first, 100);
    await connect(second);
    expect(unconfirmedAt(second)).toEqual(idsOf(frames.slice(1)));
    confirm(second, frames[1]);
    await skip(second, 100);
    // The node of the Mac copies it before it responds, after all earlier notices.
    const last = sendFrame();
    await send(third, last);
    await Promise.all([first.kill(), second.kill()]);
    await connect(third);
    expect(unconfirmedAt(third)).toEqual(idsOf([frames[2], last]));
  });

  it('M10 copies are found by a node that was not running when they were made, and stay until the Mac confirms', async () => {
    const [owner, other] = [await node(), await node()];
    await connect(owner);
    const frame = sendFrame();
    await send(owner, frame);
    await copyFrames(owner, 1);
    await owner.kill();
    const late = await node();
    await connect(late);
    expect(unconfirmedAt(late)).toEqual([frame.requestId]);
    // Its response comes after all earlier messages of that node.
    const newer = sendFrame();
    await send(other, newer);
    await late.kill();
    await connect(other);
    expect(unconfirmedAt(other)).toEqual(idsOf([frame, newer]));
  });

  it('M10 copies are sent to a node that missed them, within three seconds and in order', async () => {
    const [owner, other] = [await node(), await node()];
    await connect(owner);
    const frames = [sendFrame(), sendFrame(), sendFrame(), sendFrame()] as const;
    await send(owner, frames[0]);
    await send(owner, frames[1]);
    await copyFrames(owner, 2);
    const late = await node();
    await skip(owner, 3000);
    // Each response comes after all earlier messages of the owner: what it offers, then the copies that the late node asked for.
    await send(late, frames[2]);
    await send(late, frames[3]);
    await Promise.all([owner.kill(), other.kill()]);
    await connect(late);
    expect(unconfirmedAt(late)).toEqual(idsOf(frames));
  });

  it('M10 copies of frames that the Mac has just confirmed are deleted before another node gets the rest', async () => {
    const [owner, other] = [await node(), await node()];
    await connect(owner);
    const frames = [sendFrame(), sendFrame()] as const;
    for (const frame of frames) await send(owner, frame);
    await copyFrames(owner, 2);
    confirm(owner, frames[0]);
    await connect(other);
    expect(unconfirmedAt(other)).toEqual([frames[1].requestId]);
  });

  it('M10 copies are made later when Redis is not available at first', async () => {
    let isAway = true;
    const [owner, other] = [
      await node((redis) => ({
        ...redis,
        publish: (channel, message) =>
          isAway && channel === 'nodes'
            ? Promise.reject(new EngineError('redis', 'away'))
            : redis.publish(channel, message),
      })),
      await node(),
    ];
    isAway = false;
    await connect(owner);
    isAway = true;
    const frames = [sendFrame(), sendFrame()];
    for (const frame of frames) await send(owner, frame);
    await skip(owner, COPY_AFTER_MS + 200);
    expect(owner.copied).toBe(0);
    isAway = false;
    await skip(owner, 2000);
    await until(() => owner.copied === 2);
    await owner.kill();
    await connect(other);
    expect(unconfirmedAt(other)).toEqual(idsOf(frames));
  });

  it('M10 expire after ten minutes', async () => {
    const [owner, other] = [await node(), await node()];
    await connect(owner);
    await send(owner, sendFrame());
    await copyFrames(owner, 1);
    await skip(other, 600_000);
    await owner.kill();
    await connect(other);
    expect(unconfirmedAt(other)).toEqual([]);
  });
});

function freshLocation(): LocationId {
  const id = asLocationId(`loc-${newRequestId()}`);
  if (id === undefined) throw new Error('not a location');
  return id;
}
