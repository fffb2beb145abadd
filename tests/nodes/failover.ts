// How soon the Macs of a killed node are served elsewhere: node scripts/run.mjs tests/nodes/failover.ts [--macs 500] [--kills 4]
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { createCleanup } from '@footbridge/testkit/cleanup';

import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';

export interface FailoverOptions {
  readonly macs: number;
  readonly kills: number;
}

const RECONNECT_MS = 1000;
const ASK_AGAIN_MS = 100;
const GIVE_UP_MS = 60_000;
const AT_ONCE = 20;

/** For each Mac and each kill -9 of its node: the milliseconds until a webhook at another node is answered 200, the Mac reconnecting as it does. */
export async function failover(options: FailoverOptions): Promise<number[]> {
  const cleanup = createCleanup();
  try {
    const env = {
      RATE_LIMIT_MAC_SOCKET: '1000000',
      RATE_LIMIT_ENROLMENT: '1000000',
      RATE_LIMIT_CRM_WEBHOOK: '1000000',
    };
    return await measure(await startCluster(cleanup, { nodes: 3, env, faultProxies: false }), options);
  } finally {
    await cleanup.run();
  }
}

async function measure(cluster: Cluster, { macs: count, kills }: FailoverOptions): Promise<number[]> {
  const macs = Array.from({ length: count }, () => ({
    locationId: `loc${randomUUID().replaceAll('-', '')}`,
    deviceId: `mac-${randomUUID()}`,
  }));
  const samples: number[] = [];
  for (let kill = 0; kill < kills; kill++) {
    const dying = kill % 3;
    const others = [0, 1, 2].filter((index) => index !== dying);
    const bound = await inBatches(macs, ({ locationId, deviceId }) =>
      cluster.mac(dying, locationId, deviceId),
    );
    await cluster.node(dying).service.kill9();
    const killedAt = performance.now();
    const served = await Promise.all(
      macs.map(async ({ locationId, deviceId }, index) => {
        await bound[index]?.closed;
        // The jitter of a Mac.
        await sleep(Math.random() * RECONNECT_MS);
        const mac = await cluster.mac(others[index % 2] ?? 0, locationId, deviceId);
        for (;;) {
          // At the node that does not hold it.
          const { status } = await cluster.webhook(others[(index + 1) % 2] ?? 0, locationId);
          const took = performance.now() - killedAt;
          if (status !== 200 && took < GIVE_UP_MS) {
            await sleep(ASK_AGAIN_MS);
            continue;
          }
          await mac.nextFrame('send', 60_000);
          samples.push(took);
          return mac;
        }
      }),
    );
    for (const mac of served) mac.terminate();
    await cluster.startAgain(cluster.node(dying).service);
  }
  return samples;
}

async function inBatches<T, R>(all: readonly T[], task: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < all.length; from += AT_ONCE)
    results.push(...(await Promise.all(all.slice(from, from + AT_ONCE).map(task))));
  return results;
}

function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { macs: { type: 'string', default: '500' }, kills: { type: 'string', default: '4' } },
  });
  const samples = await failover({ macs: Number(values.macs), kills: Number(values.kills) });
  const [p50, p99, worst] = [0.5, 0.99, 1].map((share) => Math.round(percentile(samples, share)));
  process.stdout.write(`samples=${samples.length} p50=${p50}ms p99=${p99}ms max=${worst}ms\n`);
  process.exit((p99 ?? Infinity) < 5000 ? 0 : 1);
}
