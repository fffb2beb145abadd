import type { SendFrame } from '@footbridge/protocol/frames';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import type { Redis } from '../../platform/redis/open-redis.ts';
import { requestIdsOf } from './send-ledger.ts';
import {
  bound,
  connect,
  freshLocation,
  recording,
  settledBind,
  useRedisNodes,
} from './switchboard-redis-faults.fixture.ts';
import type { Published } from './switchboard-redis-faults.fixture.ts';

describe.skipIf(!(await hasRedis()))('the unconfirmed frames of the Redis switchboard under faults', () => {
  const fixture = useRedisNodes();
  const { node, skip } = fixture;

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
      await fixture.server.flush();
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
      await fixture.server.flush();
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
      await fixture.server.flush();
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
    const others = published.filter(({ channel }) => channel !== `node:${b.name}`);
    expect(others).toHaveLength(1);
  });
});

const idsOf = (frames: readonly SendFrame[]) => frames.map(({ requestId }) => requestId);
