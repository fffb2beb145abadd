import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';

import type { Harness, RunningCandidate } from '../harness.ts';
import { footbridge } from '../candidates/footbridge.ts';
import { cpuMicros } from '../measure/process-costs.ts';
import { warmUp } from './costs.ts';
import { measureLatencies } from './latencies.ts';
import type { Latencies } from './latencies.ts';
import { inbound, outboundReported } from './work.ts';

export interface NodeCosts {
  /** Microseconds of CPU per message and round, both nodes together. */
  readonly local: readonly number[];
  readonly across: readonly number[];
  /** The CPU of Redis, not included above. */
  readonly brokerLocal: readonly number[];
  readonly brokerAcross: readonly number[];
  readonly latencies: Latencies;
}

const SETTLE_MS = 300;
/** The minimum time that a Mac takes. By then, the check in Redis for `pending` is complete. */
const REPORT_AFTER_MS = 200;
const outbound = outboundReported(REPORT_AFTER_MS);

/**
 * Measures two nodes on one Redis and one PostgreSQL. The Macs are connected to the first node. Webhooks go to the first
 * node (local) or to the second, which forwards each message through Redis. Resolves to undefined if a server is missing.
 */
export async function measureNodes(
  harness: Harness,
  size: { rounds: number; messages: number; macs: number },
): Promise<NodeCosts | undefined> {
  if (!(await hasRedis()) || !(await hasPostgres())) return undefined;
  const postgres = await startPostgres();
  const redis = await startRedis();
  try {
    const env = {
      DATABASE_URL: await postgres.createDatabase(),
      REDIS_URL: redis.url,
      NODE_SECRET: randomBytes(24).toString('hex'),
      CRM_OAUTH_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    };
    const first = await harness.start(footbridge({ name: 'local', env }), size.macs);
    const second = await harness.start(footbridge({ name: 'second node', env }), 0);
    // Both entries use the Macs of the first node; only the node that gets the webhook differs.
    const candidates = [first, { ...first, url: second.url }];
    // Reads every location's token once.
    await warmUp(harness, [first], inbound, 2 * size.macs);
    const costs = await alternate(harness, candidates, [first.pid, second.pid], redis.url, size);
    const steady = { outbound: 200, inbound: 0, seconds: 5, repeats: 3, reportAfterMs: REPORT_AFTER_MS };
    const latencies = {
      ...(await measureLatencies(harness, [first], () => steady)),
      across: (await measureLatencies(harness, [{ ...first, url: second.url }], () => steady))['local'] ?? {},
    };
    await harness.stop(first);
    await harness.stop(second);
    return { ...costs, latencies };
  } finally {
    await redis.stop();
    await postgres.stop();
  }
}

async function alternate(
  { environment }: Harness,
  [local, across]: readonly RunningCandidate[],
  pids: readonly number[],
  redisUrl: string,
  { rounds, messages }: { rounds: number; messages: number },
): Promise<Omit<NodeCosts, 'latencies'>> {
  const found = {
    local: [] as number[],
    across: [] as number[],
    brokerLocal: [] as number[],
    brokerAcross: [] as number[],
  };
  const nodes = () => pids.reduce((sum, pid) => sum + cpuMicros(pid), 0);
  // The first round is a warm-up.
  for (let round = 0; round <= rounds; round++) {
    const count = round === 0 ? messages * 5 : messages;
    for (const [candidate, ours, brokers] of [
      [local, found.local, found.brokerLocal],
      [across, found.across, found.brokerAcross],
    ] as const) {
      if (candidate === undefined) continue;
      // New ids each time: the CRM gets no second status of a message.
      const run = await outbound.prepare(environment, candidate.locations, count);
      const [before, brokerBefore] = [nodes(), await brokerMicros(redisUrl)];
      await outbound.perform(environment, candidate, run, count);
      await sleep(SETTLE_MS);
      if (round === 0) continue;
      ours.push((nodes() - before) / count);
      brokers.push(((await brokerMicros(redisUrl)) - brokerBefore) / count);
    }
  }
  return found;
}

/** Returns the CPU time that Redis reports for itself. */
async function brokerMicros(url: string): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.end('INFO cpu\r\nQUIT\r\n');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => (text += String(chunk)));
  await once(socket, 'close');
  const seconds = ['used_cpu_sys', 'used_cpu_user'].map((name) =>
    Number(new RegExp(`${name}:([\\d.]+)`).exec(text)?.[1]),
  );
  return seconds.reduce((sum, value) => sum + value, 0) * 1e6;
}
