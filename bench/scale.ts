// Measures the capacity of Redis, PostgreSQL and several nodes for docs/scale.md: node scripts/run.mjs bench/scale.ts
// [--only leases,journal,nodes] [--macs 10000,100000] [--processes 4] [--seconds 12] [--messages 20000] [--nodes 1,2,4,8]
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';

import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';

import { withHarness } from './harness.ts';
import { UNPINNED } from './measure/pinning.ts';
import { measureJournal } from './scale/journal.ts';
import { measureLeases } from './scale/leases.ts';
import { measureCluster } from './scenarios/cluster.ts';

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
const numbers = (list: string) => list.split(',').map(Number);
const [processes, messages, seconds] = [values.processes, values.messages, values.seconds].map(Number) as [
  number,
  number,
  number,
];

if (!(await hasRedis()) || !(await hasPostgres())) {
  process.stderr.write('Redis or PostgreSQL was not found; CONTRIBUTING.md explains how to provide them.\n');
  process.exit(2);
}
if (only.has('leases'))
  for (const macs of numbers(values.macs))
    print('leases', { macs, ...(await measureLeases({ macs, processes, seconds, messages })) });
if (only.has('journal'))
  for (const figures of await measureJournal({ processes, messages })) print('journal', figures);
if (only.has('nodes'))
  await withHarness({ pinning: UNPINNED }, async (harness) => {
    for (const nodes of numbers(values.nodes))
      print('nodes', { nodes, ...(await measureCluster(harness, { nodes, macs: 200, messages })) });
  });
process.exit(0);

/** Prints figures with three digits, and the load of the machine. */
function print(name: string, figures: object): void {
  const rounded = (_: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(3)) : value;
  process.stdout.write(`${name} ${JSON.stringify({ ...figures, load: loadavg()[0] }, rounded)}\n`);
}
