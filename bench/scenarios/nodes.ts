import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { hasPostgres, startPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis, startRedis } from '@footbridge/testkit/servers/redis';

import type { Arena, Lane } from '../arena.ts';
import { footbridge } from '../contestants/footbridge.ts';
import { cpuMicros } from '../measure/process-costs.ts';
import { warmUp } from './costs.ts';
import { measureLatencies } from './latencies.ts';
import type { Latencies } from './latencies.ts';
import { inbound, outboundReported } from './work.ts';

export interface NodeCosts {
  /** Microseconds of CPU per message and round, both nodes together. */
  readonly local: readonly number[];
  readonly across: readonly number[];
  /** The broker's share, not part of the above. */
  readonly brokerLocal: readonly number[];
  readonly brokerAcross: readonly number[];
  readonly latencies: Latencies;
}

const SETTLE_MS = 300;
/** What a Mac takes at the least; by then `pending` has asked Redis whether it may be said. */
const REPORT_AFTER_MS = 200;
const outbound = outboundReported(REPORT_AFTER_MS);

/**
 * Two nodes on one Redis and one PostgreSQL. The Macs are on the first; webhooks go to the first (local) or to the second, from
 * where each message crosses Redis. Undefined where a server is missing.
 */
export async function measureNodes(
  arena: Arena,
  what: { rounds: number; messages: number; macs: number },
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
    const near = await arena.enter(footbridge({ name: 'local', env }), what.macs);
    const far = await arena.enter(footbridge({ name: 'second node', env }), 0);
    // The Macs of both lanes are those of the first node; only the door of the webhook differs.
    const lanes = [near, { ...near, url: far.url }];
    // Reads every location's token once.
    await warmUp(arena, [near], inbound, 2 * what.macs);
    const costs = await alternate(arena, lanes, [near.pid, far.pid], redis.url, what);
    const steady = { outbound: 200, inbound: 0, seconds: 5, repeats: 3, reportAfterMs: REPORT_AFTER_MS };
    const latencies = {
      ...(await measureLatencies(arena, [near], () => steady)),
      across: (await measureLatencies(arena, [{ ...near, url: far.url }], () => steady))['local'] ?? {},
    };
    await arena.leave(near);
    await arena.leave(far);
    return { ...costs, latencies };
  } finally {
    await redis.stop();
    await postgres.stop();
  }
}

async function alternate(
  { world }: Arena,
  [local, across]: readonly Lane[],
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
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const count = round === 0 ? messages * 5 : messages;
    const run = await outbound.prepare(world, local?.locations ?? [], count);
    for (const [lane, ours, brokers] of [
      [local, found.local, found.brokerLocal],
      [across, found.across, found.brokerAcross],
    ] as const) {
      if (lane === undefined) continue;
      const [before, brokerBefore] = [nodes(), await brokerMicros(redisUrl)];
      await outbound.perform(world, lane, run, count);
      await sleep(SETTLE_MS);
      if (round === 0) continue;
      ours.push((nodes() - before) / count);
      brokers.push(((await brokerMicros(redisUrl)) - brokerBefore) / count);
    }
  }
  return found;
}

/** What Redis itself says it used. */
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
