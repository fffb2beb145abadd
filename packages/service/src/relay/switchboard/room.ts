import { hostname } from 'node:os';

import type { Clock } from '@footbridge/runtime/clock';
import type { Lifecycle } from '@footbridge/runtime/lifecycle';
import type { Log } from '@footbridge/runtime/log';

import type { Metrics } from '../../platform/metrics/metrics.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import { NodeWatch } from './watch-nodes.ts';
import type { Separation } from './watch-nodes.ts';
import type { Broadcast } from '../../platform/changes/broadcast.ts';
import type { BroadcastMessage } from '../../platform/changes/broadcast-redis.ts';
import { createMemoryBroadcast } from '../../platform/changes/broadcast-memory.ts';
import type { Changes } from '../../platform/changes/changes.ts';
import { createMemoryChanges } from '../../platform/changes/changes-memory.ts';
import type { HealthCheck } from '../../platform/http/health-routes.ts';
import type { Journal } from '../journal/journal-sql.ts';
import type { MessageEvents } from '../journal/message-events.ts';
import { createMemoryMessageEvents } from '../journal/message-events-memory.ts';
import type { EventBatch } from '../journal/message-events-redis.ts';
import type { Limits } from '../../platform/limits/limits.ts';
import { createMemoryLimits } from '../../platform/limits/limits-memory.ts';
import { createBusCipher } from './bus.ts';
import type { CLUSTER } from './settings.ts';
import type { SendLedger } from './send-ledger.ts';
import type { Switchboard } from './switchboard.ts';
import { createMemorySwitchboard } from './switchboard-memory.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { sharedSecret } from '../../platform/sql/shared-secret.ts';

export interface Cluster {
  readonly broadcast: Broadcast;
  readonly switchboard: Switchboard;
  readonly changes: Changes;
  readonly limits: Limits;
  readonly messageEvents: MessageEvents;
  readonly checks: readonly HealthCheck[];
  /** Returns why other nodes of the database are not in Redis with this one. */
  readonly separations: () => ReadonlySet<Separation>;
}

export interface ClusterDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly life: Lifecycle;
  readonly metrics: Metrics;
  readonly node: string;
  readonly database: OpenDatabase;
  readonly ledger: SendLedger;
  readonly feed: Pick<Journal, 'since' | 'listen'>;
}

/** The state that nodes share: in memory for one node, in Redis and PostgreSQL for several. */
export function openCluster(
  deps: ClusterDeps,
  { redisUrl, nodeSecret }: ValuesOf<typeof CLUSTER>,
): Cluster | Promise<Cluster> {
  return redisUrl === undefined ? oneNode(deps) : severalNodes(deps, redisUrl, nodeSecret);
}

function oneNode({ log, clock, life, node, feed }: ClusterDeps): Cluster {
  const limits = createMemoryLimits(clock);
  const changes = createMemoryChanges(log);
  const switchboard = createMemorySwitchboard({ clock, node });
  life.add('limits', () => limits.close());
  life.add('changes', () => changes.close());
  life.add('switchboard', () => switchboard.close());
  return {
    switchboard,
    changes,
    broadcast: createMemoryBroadcast(),
    limits,
    messageEvents: createMemoryMessageEvents(feed),
    checks: [],
    separations: () => new Set(),
  };
}

async function severalNodes(
  { log, clock, life, node, metrics, database, ledger, feed }: ClusterDeps,
  url: string,
  given: string | undefined,
): Promise<Cluster> {
  // Loaded on demand: a single node starts faster without them.
  const [
    { openRedis },
    { EARLIER_PREFIX, keyPrefix },
    { EarlierNodes },
    { createRedisLimits },
    { createRedisBroadcast },
    { createRedisSwitchboard },
    { createRedisMessageEvents },
    { createSqlChanges },
  ] = await Promise.all([
    import('../../platform/redis/open-redis.ts'),
    import('../../platform/redis/key-prefix.ts'),
    import('./earlier-nodes-redis.ts'),
    import('../../platform/limits/limits-redis.ts'),
    import('../../platform/changes/broadcast-redis.ts'),
    import('./switchboard-redis.ts'),
    import('../journal/message-events-redis.ts'),
    import('../../platform/changes/changes-sql.ts'),
  ]);
  if (database.engine !== 'postgres')
    log.warn(
      { event: 'service.redis_without_postgres' },
      'Redis without PostgreSQL: this node does not share its licenses and keys; with several nodes set DATABASE_URL',
    );
  const nodeSecret = given ?? (await sharedSecret(database.db, 'node'));
  const prefix = keyPrefix(nodeSecret);
  const opened = await openRedis({ url, prefix, node, log });
  life.add('Redis', () => opened.close());
  const earlier = opened.withPrefix(EARLIER_PREFIX);
  const earlierNodes = new EarlierNodes({ redis: earlier, nodeSecret, clock });
  // A rolling upgrade: until all nodes were stopped once, they share the names of the version that it began with.
  const isEarlier = await earlierNodes.areThere();
  const redis = isEarlier ? earlier : opened;
  if (isEarlier)
    log.warn(
      { event: 'redis.names_of_earlier_version' },
      'nodes use the names in Redis of an earlier version, which other installations share: stop all nodes once after the upgrade',
    );
  const limits = createRedisLimits({ redis, fallback: createMemoryLimits(clock), clock, log });
  life.add('limits', () => limits.close());
  const changes = await createSqlChanges({ db: database.db, clock, log });
  life.add('changes', () => changes.close());
  const broadcast = await createRedisBroadcast({
    redis,
    cipher: createBusCipher<BroadcastMessage>(nodeSecret, { purpose: 'broadcast v1' }),
    node,
    log,
  });
  const onCopied = metrics.sendsCopied;
  const switchboard = await createRedisSwitchboard({
    redis,
    nodeSecret,
    clock,
    log,
    ledger,
    onCopied,
    node,
  });
  life.add('switchboard', () => switchboard.close());
  const cipher = createBusCipher<EventBatch>(nodeSecret, { purpose: 'events v1' });
  const messageEvents = createRedisMessageEvents({ redis, local: feed, cipher, clock });
  life.add('message events', () => messageEvents.close());
  const nodes = new NodeWatch({
    self: { node, host: hostname(), prefix, isEarlier },
    announce: (notice) => changes.announce('node', notice),
    listen: (listener) => changes.listen('node', listener),
    redis,
    hasEarlierNodes: async () => !isEarlier && (await earlierNodes.areThere()),
    clock,
    log,
  });
  life.add('watch of the nodes', () => nodes.close());
  const checks = [{ name: 'redis', check: () => redis.ping() }];
  return {
    switchboard,
    changes,
    broadcast,
    limits,
    messageEvents,
    checks,
    separations: () => nodes.separations(),
  };
}
