import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { startPostgres } from '@footbridge/testkit/servers/postgres';
import { startRedis } from '@footbridge/testkit/servers/redis';

import { footbridge } from '../candidates.ts';
import { locationNames } from '../environment/messages.ts';
import type { Harness, RunningCandidate } from '../harness.ts';
import { cpuMicros } from '../measure/process-costs.ts';
import { postgresFigures, redisFigures, since } from '../measure/server-figures.ts';
import { ratios, spread } from '../measure/statistics.ts';
import { measureLatencies } from './latencies.ts';
import { beginOutbound, CONCURRENCY, endOutbound, inbound, prepareWebhooks } from './work.ts';

interface Cluster {
  readonly urls: readonly string[];
  /** The Macs of all nodes, as a candidate that is the first node. */
  readonly fleet: RunningCandidate;
  /** Sends webhooks to the nodes with these addresses. All costs are per message. */
  readonly measure: (urls: readonly string[], count: number, reportAfterMs?: number) => Promise<ClusterCosts>;
}

interface ClusterCosts {
  /** Webhooks per second until the CRM has `delivered` for the last one. */
  readonly perSec: number;
  readonly nodesMicros: number;
  readonly redisMicros: number;
  readonly postgresMicros: number;
  readonly redisRequests: number;
  readonly redisCommands: number;
}

const SETTLE_MS = 500;
/** The minimum time that a Mac takes. By then, the check in Redis for `pending` is complete. */
const REPORT_AFTER_MS = 200;

/** Starts nodes on one Redis and one PostgreSQL. The Macs are distributed over the first `served` nodes. */
async function withCluster<T>(
  harness: Harness,
  { nodes: count, served, macs }: { nodes: number; served: number; macs: number },
  task: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const { environment } = harness;
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  const nodes: RunningCandidate[] = [];
  try {
    const database = await postgres.createDatabase();
    const env = {
      DATABASE_URL: database,
      REDIS_URL: redis.url,
      NODE_SECRET: randomBytes(24).toString('hex'),
      CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    };
    for (let index = 0; index < count; index++)
      nodes.push(await harness.start(footbridge({ name: `node ${index} of ${count}`, env }), 0));
    const [first] = nodes;
    if (first === undefined) throw new Error('a cluster needs at least one node');
    const fleet = { ...first, name: `${count} nodes`, locations: locationNames(macs) };
    const credentials = await first.enrol(fleet.locations);
    for (const [index, { url }] of nodes.slice(0, served).entries()) {
      const own = credentials.filter((_, position) => position % served === index);
      await environment.macs.call('connect', fleet.name, url, own);
    }
    const read = async () => ({
      nodes: { cpuMicros: nodes.reduce((sum, { pid }) => sum + cpuMicros(pid), 0) },
      redis: await redisFigures(redis.url),
      postgres: await postgresFigures(postgres, database),
    });
    const measure: Cluster['measure'] = async (urls, size, reportAfterMs = 0) => {
      // New ids each time: the CRM gets no second status of a message.
      const run = await prepareWebhooks(environment, fleet.locations, size);
      const before = await read();
      await beginOutbound(environment, fleet, run, size, { reportAfterMs });
      const startedAt = performance.now();
      const sent = await environment.load.call('closedLoop', urls, CONCURRENCY);
      await endOutbound(environment, fleet, size, sent);
      const perSec = (1000 * size) / (performance.now() - startedAt);
      await sleep(SETTLE_MS);
      const after = await read();
      const used = since(before.redis, after.redis, size);
      return {
        perSec,
        nodesMicros: since(before.nodes, after.nodes, size).cpuMicros,
        redisMicros: used.cpuMicros,
        postgresMicros: since(before.postgres, after.postgres, size).cpuMicros,
        redisRequests: used.requests,
        redisCommands: used.commands,
      };
    };
    const result = await task({ urls: nodes.map(({ url }) => url), fleet, measure });
    await environment.macs.call('disconnect', fleet.name);
    return result;
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await redis.stop();
    await postgres.stop();
  }
}

/** Sends webhooks to all nodes at once. The Macs are distributed over the nodes, so most messages go through Redis. */
export const measureCluster = (
  harness: Harness,
  { nodes, macs, messages }: { nodes: number; macs: number; messages: number },
): Promise<ClusterCosts> =>
  withCluster(harness, { nodes, served: nodes, macs }, async ({ urls, measure }) => {
    // Warm-up: reads every location's token and compiles the code.
    await measure(urls, Math.max(macs, messages));
    return measure(urls, messages);
  });

/** Sends webhooks to the node of the Macs (local) or to a second one, which forwards each message through Redis (across). */
export const measureTwoNodes = (
  harness: Harness,
  { rounds, messages, macs }: { rounds: number; messages: number; macs: number },
) =>
  withCluster(harness, { nodes: 2, served: 1, macs }, async ({ urls, fleet, measure }) => {
    // Reads every location's token once.
    const run = await inbound.prepare(harness.environment, fleet.locations, 2 * macs);
    await inbound.perform(harness.environment, fleet, run, 2 * macs);
    const [local = '', across = ''] = urls;
    const costs: { local: ClusterCosts; across: ClusterCosts }[] = [];
    for (let round = 0; round <= rounds; round++) {
      const count = round === 0 ? messages * 5 : messages;
      const both = {
        local: await measure([local], count, REPORT_AFTER_MS),
        across: await measure([across], count, REPORT_AFTER_MS),
      };
      // The first round is a warm-up.
      if (round > 0) costs.push(both);
    }
    const steady = { outbound: 200, inbound: 0, seconds: 5, repeats: 3, reportAfterMs: REPORT_AFTER_MS };
    const latency = async (url: string) =>
      (await measureLatencies(harness, [{ ...fleet, url }], () => steady))[fleet.name] ?? {};
    const micros = (where: 'local' | 'across') => costs.map((round) => round[where].nodesMicros);
    const broker = (where: 'local' | 'across') => costs.map((round) => round[where].redisMicros);
    return {
      local: spread(micros('local')),
      across: spread(micros('across')),
      toLocal: spread(ratios(micros('across'), micros('local'))),
      brokerLocal: spread(broker('local')),
      brokerAcross: spread(broker('across')),
      latencies: { local: await latency(local), across: await latency(across) },
    };
  });
