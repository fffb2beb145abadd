import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { startPostgres } from '@footbridge/testkit/servers/postgres';
import { startRedis } from '@footbridge/testkit/servers/redis';

import { footbridge } from '../candidates/footbridge.ts';
import { locationNames } from '../environment/environment.ts';
import type { Harness, RunningCandidate } from '../harness.ts';
import { cpuMicros } from '../measure/process-costs.ts';
import { beginOutbound, CONCURRENCY, endOutbound, prepareWebhooks } from '../scenarios/work.ts';
import { postgresFigures, redisFigures, since } from './server-figures.ts';

export interface ClusterFigures {
  readonly nodes: number;
  readonly messages: number;
  /** Webhooks per second until the CRM has `delivered` for the last one. All processes share this machine. */
  readonly perSec: number;
  /** Microseconds of CPU per message. */
  readonly nodesMicros: number;
  readonly redisMicros: number;
  readonly postgresMicros: number;
  readonly redisRequests: number;
  readonly redisCommands: number;
}

const SETTLE_MS = 500;

/** Sends webhooks to all nodes at once. The Macs are distributed over the nodes, so most messages go through Redis. */
export async function measureCluster(
  harness: Harness,
  { nodes: count, macs, messages }: { nodes: number; macs: number; messages: number },
): Promise<ClusterFigures> {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  const database = await postgres.createDatabase();
  const env = {
    DATABASE_URL: database,
    REDIS_URL: redis.url,
    NODE_SECRET: randomBytes(24).toString('hex'),
    CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
  };
  const nodes: RunningCandidate[] = [];
  const { environment } = harness;
  try {
    for (let index = 0; index < count; index++)
      nodes.push(await harness.start(footbridge({ name: `node ${index} of ${count}`, env }), 0));
    const [first] = nodes;
    if (first === undefined) throw new Error('a cluster needs at least one node');
    const locations = locationNames(macs);
    const credentials = await first.enrol(locations);
    const fleet = { ...first, name: `Macs of ${count} nodes` };
    for (const [index, node] of nodes.entries())
      await environment.macs.call(
        'connect',
        fleet.name,
        `${node.url.replace('http', 'ws')}/mac/socket`,
        credentials.filter((_, position) => position % count === index),
      );
    const perform = async (size: number) => {
      const run = await prepareWebhooks(environment, locations, size);
      const read = async () => ({
        nodes: { cpuMicros: nodes.reduce((sum, { pid }) => sum + cpuMicros(pid), 0) },
        redis: await redisFigures(redis.url),
        postgres: await postgresFigures(postgres, database),
      });
      const before = await read();
      await beginOutbound(environment, fleet, run, size);
      const startedAt = performance.now();
      const urls = nodes.map(({ url }) => url);
      const sent = await environment.load.call('closedLoop', urls, CONCURRENCY);
      await endOutbound(environment, fleet, size, sent);
      const seconds = (performance.now() - startedAt) / 1000;
      await sleep(SETTLE_MS);
      const after = await read();
      return {
        seconds,
        nodes: since(before.nodes, after.nodes),
        redis: since(before.redis, after.redis),
        postgres: since(before.postgres, after.postgres),
      };
    };
    // Warm-up: reads every location's token and compiles the code.
    await perform(Math.max(macs, messages));
    const used = await perform(messages);
    await environment.macs.call('disconnect', fleet.name);
    return {
      nodes: count,
      messages,
      perSec: messages / used.seconds,
      nodesMicros: used.nodes.cpuMicros / messages,
      redisMicros: used.redis.cpuMicros / messages,
      postgresMicros: used.postgres.cpuMicros / messages,
      redisRequests: used.redis.requests / messages,
      redisCommands: used.redis.commands / messages,
    };
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await redis.stop();
    await postgres.stop();
  }
}
