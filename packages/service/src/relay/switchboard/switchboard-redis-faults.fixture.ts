import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { startRedis } from '@footbridge/testkit/servers/redis';
import type { RedisOptions } from '@footbridge/testkit/servers/redis';
import { silentLog } from '@footbridge/testkit/silent-log';
import { SkippingClock } from '@footbridge/testkit/skipping-clock';
import { afterEach, beforeEach } from 'vitest';

import { openRedis } from '../../platform/redis/open-redis.ts';
import type { Redis } from '../../platform/redis/open-redis.ts';
import { SendLedger } from './send-ledger.ts';
import type { DisconnectReason, Lease, MacConnection, Switchboard } from './switchboard.ts';
import { createRedisSwitchboard } from './switchboard-redis.ts';

const SECRET = 'a secret that all nodes share';

interface NodeOptions {
  secret?: string;
  clock?: Clock;
  /** Changes what the node sends to Redis and receives from it. */
  through?: (redis: Redis) => Redis;
}

interface TestNode {
  board: Switchboard;
  redis: Redis;
  ledger: SendLedger;
  name: string;
  warnings: string[];
}

export interface RedisNodes {
  clock: SkippingClock;
  server: Awaited<ReturnType<typeof startRedis>>;
  /** Opens another node. */
  readonly node: (options?: NodeOptions) => Promise<TestNode>;
  /** Redis's clock does not skip. Every node sends a request afterwards and learns Redis's time again. */
  readonly skip: (ms: number) => Promise<void>;
}

/** Starts Redis for each test of the enclosing `describe`. Tests read `clock` and `server` while they run, not before. */
export function useRedisNodes(options: RedisOptions = {}): RedisNodes {
  const fixture = { node, skip } as RedisNodes;
  const opened: { close(): Promise<void> }[] = [];
  const boards: Switchboard[] = [];

  beforeEach(async () => {
    fixture.clock = new SkippingClock();
    fixture.server = await startRedis(options);
    // It has been running for a while: a missing lease proves that no Mac is connected.
    await fixture.server.command('SET test:since 1');
  });
  afterEach(async () => {
    boards.length = 0;
    for (const one of opened.splice(0).toReversed()) await one.close();
    await fixture.server.stop();
  });

  async function node({
    secret = SECRET,
    clock = fixture.clock,
    through = (redis) => redis,
  }: NodeOptions = {}): Promise<TestNode> {
    const redis = await openRedis({ url: fixture.server.url, prefix: 'test:', log: silentLog });
    const name = newRequestId();
    const warnings: string[] = [];
    const ledger = new SendLedger({ clock, onDrop: () => {} });
    const board = await createRedisSwitchboard({
      redis: through(redis),
      nodeSecret: secret,
      clock,
      log: { ...silentLog, warn: (_fields, message) => void warnings.push(message) },
      ledger,
      node: name,
    });
    opened.push(redis, board);
    boards.push(board);
    return { board, redis, ledger, name, warnings };
  }

  async function skip(ms: number): Promise<void> {
    await fixture.clock.skip(ms);
    for (const board of boards) await board.send(freshLocation(), sendFrame()).catch(() => {});
  }

  return fixture;
}

export interface Published {
  readonly channel: string;
  readonly message: Buffer;
}

export const recording =
  (published: Published[]) =>
  (redis: Redis): Redis => ({
    ...redis,
    publish: (channel, message) => {
      published.push({ channel, message });
      return redis.publish(channel, message);
    },
  });

export const withoutSubscriptions = (redis: Redis): Redis => ({ ...redis, subscribe: async () => {} });

interface TestConnection extends MacConnection {
  readonly disconnects: DisconnectReason[];
  readonly written: number;
  readonly repeated: string[];
}

export function connect(deviceId: string): TestConnection {
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

export async function bound(board: Switchboard, location: LocationId, on: MacConnection): Promise<Lease> {
  const outcome = await board.bind(location, on);
  if (outcome.kind !== 'bound') throw new Error('not bound');
  return outcome.lease;
}

/** Binds and waits for the unconfirmed frames of the device. */
export async function settledBind(
  board: Switchboard,
  location: LocationId,
  on: MacConnection,
): Promise<void> {
  const outcome = await board.bind(location, on);
  if (outcome.kind === 'bound') await outcome.unconfirmed;
}

export function freshLocation(): LocationId {
  const id = asLocationId(`loc-${newRequestId()}`);
  if (id === undefined) throw new Error('not a location');
  return id;
}
