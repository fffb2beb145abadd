import { ageKeys } from '@footbridge/testkit/age-keys';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import type { Redis } from '../../platform/redis/open-redis.ts';
import { bound, connect, freshLocation, useRedisNodes } from './switchboard-redis-faults.fixture.ts';
import { NO_STATUSES } from './switchboard.contract.ts';
import { SETTLE_TIMEOUT_MS } from './switchboard.ts';

describe.skipIf(!(await hasRedis()))('the statuses of the Redis switchboard under faults', () => {
  const fixture = useRedisNodes();
  const { node, skip } = fixture;

  it('A4 knows that the calls of former owners have ended when they say so', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    for (const { board } of [a, b, a, a])
      expect(await board.callsEnded(await bound(board, location, connect('device-1')))).toBe(0);
  });

  it('A4 asks the former owner also when it bound the location long ago', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    const asked: string[] = [];
    a.board.keepStatuses({
      ...NO_STATUSES,
      endCalls: async (locationId) => asked.push(locationId) - 1,
    });
    const lease = await bound(a.board, location, connect('device-1'));
    await ageKeys(fixture.server.url, '*:bound', 600_000);
    await a.board.release(lease);
    await b.board.callsEnded(await bound(b.board, location, connect('device-1')));
    expect(asked).toEqual([location]);
  });

  it('A4 reports to the next owner how long a call of the former owner may still arrive at the CRM', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    a.board.keepStatuses({ ...NO_STATUSES, endCalls: async () => 7000 });
    await bound(a.board, location, connect('device-1'));
    const lease = await bound(b.board, location, connect('device-1'));
    expect(await b.board.callsEnded(lease)).toBeGreaterThan(0);
    await skip(7000);
    expect(await b.board.callsEnded(lease)).toBe(0);
  });

  it('A4 a new owner waits for the calls of a former owner that is gone, not for the owner itself', async () => {
    const [gone, here, next] = [await node(), await node(), await node()];
    const location = freshLocation();
    await bound(gone.board, location, connect('device-1'));
    await gone.redis.close();
    const lease = await bound(here.board, location, connect('device-1'));
    const leftMs = await here.board.callsEnded(lease);
    expect(leftMs).toBeGreaterThan(SETTLE_TIMEOUT_MS / 2);
    await skip(5000);
    const later = await next.board.callsEnded(await bound(next.board, location, connect('device-1')));
    expect(later).toBeGreaterThan(0);
    expect(later).toBeLessThan(leftMs - 4999);
    await skip(SETTLE_TIMEOUT_MS);
    expect(await here.board.callsEnded(lease)).toBe(0);
  });

  it('A5 reports to every next owner, for ten minutes, that statuses of a lost owner may be missing', async () => {
    const [gone, here, next] = [await node(), await node(), await node()];
    const location = freshLocation();
    const first = await bound(gone.board, location, connect('device-1'));
    expect(gone.board.mayLackStatuses(first)).toBe(false);
    await gone.redis.close();
    const second = await bound(here.board, location, connect('device-1'));
    await here.board.callsEnded(second);
    expect(here.board.mayLackStatuses(second)).toBe(true);
    await skip(60_000);
    const third = await bound(next.board, location, connect('device-1'));
    await next.board.callsEnded(third);
    expect(next.board.mayLackStatuses(third)).toBe(true);
    await skip(541_000);
    expect(next.board.mayLackStatuses(third)).toBe(false);
  });

  it('A4 a new owner waits at most 20 s for a silent former owner', async () => {
    const [silent, here] = [await node({ through: deaf }), await node()];
    const location = freshLocation();
    await bound(silent.board, location, connect('device-1'));
    const ending = here.board.callsEnded(await bound(here.board, location, connect('device-1')));
    expect(await fixture.clock.skipThrough(ending)).toBe(0);
  });

  it('A5 a node does not know whether a message is under way while another node or Redis does not respond', async () => {
    const [a, silent] = [await node(), await node({ through: deaf })];
    const isUnderWay = () => fixture.clock.skipThrough(a.board.isUnderWayElsewhere('loc1', 'm1'));
    expect(await isUnderWay()).toBe('unknown');
    await silent.redis.close();
    await until(async () => (await isUnderWay()) === false);
    await a.redis.close();
    expect(await isUnderWay()).toBe('unknown');
  });

  it('A5 a node does not wait for a node that rejected a message and is gone', async () => {
    const [a, b] = [await node(), await node()];
    const location = freshLocation();
    expect(await a.board.isUnderWayElsewhere(location, 'm1')).toBe(false);
    await a.redis.close();
    const lease = await bound(b.board, location, connect('device-1'));
    expect(await b.board.statusElsewhere('m1', lease)).toBeUndefined();
  });
});

/** Subscribed, but receives no messages. */
const deaf = (redis: Redis): Redis => ({
  ...redis,
  subscribe: (channel) => redis.subscribe(channel, () => {}),
});
