import { startReplica, startSentinelsOf } from '@footbridge/testkit/servers/redis-sentinel';
import { startRedis } from '@footbridge/testkit/servers/redis';
import type { Redis, RedisOptions } from '@footbridge/testkit/servers/redis';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';

/**
 * How a replica becomes the primary, while the former primary stays as its replica:
 *
 * - `FAILOVER`: Redis waits until the replica has everything.
 * - `REPLICAOF`: at once, as scripts of operators do; the latest writes may be lost.
 * - `Sentinel`: a sentinel does it, and closes the connections to the former primary.
 */
export type FailoverWay = 'FAILOVER' | 'REPLICAOF' | 'Sentinel';
export const FAILOVER_WAYS: readonly FailoverWay[] = ['FAILOVER', 'REPLICAOF', 'Sentinel'];

/** A Redis that can fail over to a new server. All other calls go to the primary. */
export interface MovableRedis extends Redis {
  /** Starts the replica for the next failover. */
  prepareReplica(): Promise<void>;
  /** Resolves with the URL of the new primary, when there is one. */
  failOver(way: FailoverWay): Promise<string>;
}

export async function startMovableRedis(cleanup: Cleanup, options: RedisOptions = {}): Promise<MovableRedis> {
  let primary = await startRedis(options);
  cleanup.add(() => primary.stop());
  let [former, replica]: [Redis?, Redis?] = [];
  cleanup.add(() => Promise.all([former?.stop(), replica?.stop()]));

  async function prepareReplica(): Promise<void> {
    if (replica !== undefined) return;
    await former?.stop();
    former = undefined;
    replica = await startReplica(primary);
  }

  async function failOver(way: FailoverWay): Promise<string> {
    await prepareReplica();
    const next = replica;
    if (next === undefined) throw new Error('no replica');
    [former, primary, replica] = [primary, next, undefined];
    await MOVES[way](former, next);
    await until(async () => (await next.command('INFO replication')).includes('role:master'), {
      within: 60_000,
      every: 20,
      what: 'the new primary',
    });
    return next.url;
  }

  return {
    get url() {
      return primary.url;
    },
    stop: async () => {
      await Promise.all([former?.stop(), replica?.stop(), primary.stop()]);
    },
    restart: (how) => primary.restart(how),
    kill: () => primary.kill(),
    flush: () => primary.flush(),
    command: (words) => primary.command(words),
    pause: () => primary.pause(),
    resume: () => primary.resume(),
    stepClock: (seconds) => primary.stepClock(seconds),
    prepareReplica,
    failOver,
  };
}

const addressOf = ({ url }: Redis) => `127.0.0.1 ${new URL(url).port}`;

const MOVES: Record<FailoverWay, (from: Redis, to: Redis) => Promise<unknown>> = {
  FAILOVER: (from, to) => from.command(`FAILOVER TO ${addressOf(to)}`),
  async REPLICAOF(from, to) {
    await to.command('REPLICAOF NO ONE');
    await from.command(`REPLICAOF ${addressOf(to)}`);
  },
  async Sentinel(from) {
    const sentinel = await startSentinelsOf(from, 1);
    try {
      await sentinel.switchOver();
    } finally {
      await sentinel.stop();
    }
  },
};
