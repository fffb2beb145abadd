// Measures the capacity of Redis, PostgreSQL and several nodes for docs/scale.md: node scripts/run.mjs bench/scale.ts
// [--only leases,journal,nodes] [--macs 10000,100000] [--processes 4] [--seconds 12] [--messages 20000] [--nodes 1,2,4,8]
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';

import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';

import { openHarness } from './harness.ts';
import { UNPINNED } from './measure/pinning.ts';
import { measureCluster } from './scale/cluster.ts';
import { measureJournal } from './scale/journal.ts';
import { measureLeases } from './scale/leases.ts';
import type { LeaseFigures } from './scale/leases.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'leases,journal,nodes' },
    macs: { type: 'string', default: '10000,100000' },
    processes: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '12' },
    messages: { type: 'string', default: '20000' },
    nodes: { type: 'string', default: '1,2,4,8' },
  },
});
const only = new Set(values.only.split(','));
const [processes, messages] = [Number(values.processes), Number(values.messages)];
/** The size for which docs/scale.md has an estimate. */
const TARGET = { macs: 100_000, messagesPerSec: 10_000 };
/** In percent. Redis executes commands on one core, and half of it is reserved for bursts and failovers. */
const REDIS_SHARE = 50;
const print = (name: string, figures: object) => process.stdout.write(`${name} ${rounded(figures)}\n`);
const rounded = (figures: object) =>
  JSON.stringify(figures, (_, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(3)) : value,
  );

if (!(await hasRedis()) || !(await hasPostgres())) {
  process.stderr.write('Redis or PostgreSQL was not found; CONTRIBUTING.md explains how to provide them.\n');
  process.exit(2);
}

const load = () => Number(loadavg()[0]?.toFixed(1));
print('machine', { load: load() });
if (only.has('leases'))
  for (const macs of values.macs.split(',').map(Number)) {
    const idleMs = Number(values.seconds) * 1000;
    const figures = await measureLeases({ macs, processes, idleMs, messages }, UNPINNED);
    print('leases', { ...figures, load: load() });
    print('extrapolated', extrapolate(figures));
  }
if (only.has('journal'))
  for (const figures of await measureJournal({ processes, messages }, UNPINNED))
    print('journal', { ...figures, load: load() });
if (only.has('nodes')) {
  const harness = await openHarness({ pinning: UNPINNED });
  for (const nodes of values.nodes.split(',').map(Number))
    print('nodes', { ...(await measureCluster(harness, { nodes, macs: 200, messages })), load: load() });
  await harness.close();
}
process.exit(0);

/** Scales the measured CPU time of Redis linearly: renewals with the number of Macs, routing with the message rate. */
function extrapolate({ macs, redisBytesPerMac, idle, send }: LeaseFigures): object {
  const leases = (idle.redisCpu / macs) * TARGET.macs;
  const routing = (send.redisMicros * TARGET.messagesPerSec) / 1e4;
  return {
    ...TARGET,
    redisCpuForLeases: leases,
    redisCpuForRouting: routing,
    redisMegabytes: (redisBytesPerMac * TARGET.macs) / 1e6,
    redisShards: Math.ceil((leases + routing) / REDIS_SHARE),
  };
}
