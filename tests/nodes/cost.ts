// What the switchboard costs, in CPU of the nodes and of Redis: node scripts/run.mjs tests/nodes/cost.ts [--rounds 20000] [--macs 10000]
import { parseArgs } from 'node:util';

import { sendFrame } from '@footbridge/testkit/send-frame';
import { silentLog } from '@footbridge/testkit/silent-log';
import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { systemClock } from '@footbridge/runtime/clock';
import { startRedis } from '@footbridge/testkit/servers/redis';
import { createClient } from '@redis/client';

import type { Lease, MacConnection, Switchboard } from '@footbridge/service/relay/switchboard/switchboard';
import { SendLedger } from '@footbridge/service/relay/switchboard/send-ledger';
import { createMemorySwitchboard } from '@footbridge/service/relay/switchboard/switchboard-memory';
import { createRedisSwitchboard } from '@footbridge/service/relay/switchboard/switchboard-redis';
import { openRedis } from '@footbridge/service/platform/redis/open-redis';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20000' },
    macs: { type: 'string', default: '10000' },
    window: { type: 'string', default: '50' },
  },
});
const ROUNDS = Number(values.rounds);
const MACS = Number(values.macs);
const AT_ONCE = Number(values.window);
const say = (text: string) => process.stdout.write(`${text}\n`);

const server = await startRedis();
const probe = createClient({ url: server.url });
await probe.connect();

async function redisCpuMs(): Promise<number> {
  const info = await probe.info('cpu');
  const seconds = (name: string) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1] ?? 0);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1000;
}

async function node(): Promise<Switchboard> {
  return createRedisSwitchboard({
    redis: await openRedis({ url: server.url, prefix: 'test:', log: silentLog }),
    nodeSecret: 'a secret of all nodes',
    clock: systemClock,
    log: silentLog,
    ledger: new SendLedger({ clock: systemClock, onDrop: () => {} }),
  });
}

/** Runs `task` `rounds` times, some at once, and prints µs of CPU each: ours (all nodes), Redis's, and the median wait. */
async function measure(
  name: string,
  rounds: number,
  task: (index: number) => Promise<unknown>,
): Promise<void> {
  for (let index = 0; index < 500; index++) await task(index);
  const waits: number[] = [];
  const [cpu, redis] = [process.cpuUsage(), await redisCpuMs()];
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < rounds) {
        const began = performance.now();
        await task(next++);
        waits.push(performance.now() - began);
      }
    }),
  );
  const { user, system } = process.cpuUsage(cpu);
  const [ours, theirs] = [(user + system) / rounds, (((await redisCpuMs()) - redis) * 1000) / rounds];
  const median = waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)] ?? 0;
  say(
    `${name.padEnd(34)} nodes ${ours.toFixed(1).padStart(6)} µs   redis ${theirs.toFixed(1).padStart(5)} µs   p50 ${median.toFixed(2)} ms (${AT_ONCE} at once)`,
  );
}

const location = (name: string): LocationId => {
  const id = asLocationId(name);
  if (id === undefined) throw new Error('not a location');
  return id;
};
const connection = (deviceId: string): MacConnection => ({
  sessionId: newRequestId(),
  deviceId,
  write: () => 'written',
  disconnect() {},
  repeat() {},
});
async function bound(board: Switchboard, name: string): Promise<Lease> {
  const outcome = await board.bind(location(name), connection(`device-${name}`));
  if (outcome.kind !== 'bound') throw new Error('not bound');
  return outcome.lease;
}
const frame = () => sendFrame({ message: 'See you on Tuesday at ten, and bring the papers.' });

const memory = createMemorySwitchboard({ clock: systemClock });
await bound(memory, 'here');
const [a, b] = [await node(), await node()];
const lease = await bound(a, 'here');
await bound(b, 'there');

await measure('frame alone', ROUNDS, async () => frame());
await measure('send, one node in memory', ROUNDS, () => memory.send(location('here'), frame()));
await measure('send, the Mac on the same node', ROUNDS, () => a.send(location('here'), frame()));
await measure('send, the Mac on another node', ROUNDS, () => a.send(location('there'), frame()));
await measure('send, not connected', ROUNDS, () => a.send(location('nowhere'), frame()));
await measure('confirm', ROUNDS, () => a.confirm(lease));
await measure('bind', 5000, (index) => a.bind(location(`bind-${index}`), connection('device-1')));
await a.close();

const many = await node();
for (let from = 0; from < MACS; from += 500)
  await Promise.all(Array.from({ length: 500 }, (_, index) => bound(many, `mac-${from + index}`)));
await new Promise((resolve) => setTimeout(resolve, 4000));
const [cpu, redis] = [process.cpuUsage(), await redisCpuMs()];
let [longest, last] = [0, performance.now()];
const watch = setInterval(() => {
  longest = Math.max(longest, performance.now() - last - 5);
  last = performance.now();
}, 5);
await new Promise((resolve) => setTimeout(resolve, 12_000));
clearInterval(watch);
const { user, system } = process.cpuUsage(cpu);
const percent = (ms: number) => `${((ms / 12_000) * 100).toFixed(1)} %`;
say(
  `keeping ${MACS} leases: nodes ${percent((user + system) / 1000)} of a core, redis ${percent((await redisCpuMs()) - redis)}, longest stall ${longest.toFixed(0)} ms`,
);
probe.destroy();
await server.stop();
process.exit(0);
