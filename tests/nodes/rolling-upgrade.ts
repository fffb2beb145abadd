// Replaces nodes of the last release with nodes of this checkout, one after another, under load:
// node scripts/run.mjs tests/nodes/rolling-upgrade.ts [--rate 200] [--inbound 50] [--nodes 3] [--macs 20] [--seconds 10] [--seed 1]
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import type { Cleanup } from '@footbridge/testkit/cleanup';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { until } from '@footbridge/testkit/until';

import { FLAWLESS } from './campaign/score.ts';
import { startCluster } from './cluster.ts';
import type { Cluster, Node } from './cluster.ts';
import { CURRENT_MAIN, unpackLastRelease } from './last-release.ts';
import { startLoadBalancer, unexpectedResponses } from './load-balancer.ts';
import type { ReconnectingMac } from './reconnecting-mac.ts';
import type { Sent } from './send-until-taken.ts';
import { traffic } from './traffic.ts';
import type { Pace, TrafficScore } from './traffic.ts';

export interface UpgradeOptions {
  readonly pace: Pace;
  readonly macs: number;
  readonly seed: number;
  /** How long the load runs before the first upgrade, between two upgrades and after the last one. */
  readonly calmMs: number;
  /** Called once the first node runs the new version, while the others run the old one. */
  readonly whileMixed?: () => Promise<void>;
}

export interface UpgradeReport extends TrafficScore {
  /** How long the load lasted. */
  readonly seconds: number;
  readonly exitCodes: readonly (number | null)[];
  /** Messages that a Mac received after a newer one, although their webhook was answered before the newer one was sent. */
  readonly overtaken: readonly string[];
  /** 200 responses from nodes of the last release after the first node of this version was ready. */
  readonly takenByOldNodes: number;
}

export async function startLastRelease(cleanup: Cleanup, nodes: number): Promise<Cluster> {
  return startCluster(cleanup, {
    nodes,
    main: await unpackLastRelease(cleanup),
    faultProxies: false,
    env: {
      RATE_LIMIT_CRM_WEBHOOK: '1000000',
      RATE_LIMIT_ENROLMENT: '100000',
      DRAIN_GRACE_SEC: '2',
      // The defaults: on a busy machine the simulated CRM may respond after the timeout of a call.
      CRM_SETTLE_SEC: '20',
      CRM_READ_LAG_SEC: '10',
    },
  });
}

/** Performs the upgrade that docs/operate.md describes, under a steady load in both directions. */
export async function upgradeUnderLoad(
  cluster: Cluster,
  { pace, macs: count, seed, calmMs, whileMixed = async () => {} }: UpgradeOptions,
): Promise<UpgradeReport> {
  const exitCodes: (number | null)[] = [];
  const old = new Set<Node>(cluster.nodes);
  let takenByOldNodes = 0;
  let macs: readonly ReconnectingMac[] = [];
  let seconds = 0;
  const balancer = startLoadBalancer(cluster);
  const balanced: Cluster = {
    ...cluster,
    async webhook(random, locationId, fields) {
      const index = balancer.choose(random);
      const result = await cluster.webhook(index, locationId, fields);
      const isMixed = old.size < cluster.nodes.length;
      if (result.status === 200 && isMixed && old.has(cluster.node(index))) takenByOldNodes++;
      return result;
    },
  };
  const score = await traffic(balanced, { messages: pace, seed, locations: count }, (locations) => {
    macs = locations.flat();
    return {
      steps: 1,
      atOnce: 1,
      async step() {
        const startedAt = performance.now();
        await until(() => macs.filter(({ bindings }) => bindings.length > 0).length >= count);
        await sleep(calmMs);
        for (const node of cluster.nodes) {
          exitCodes.push(await upgrade(node));
          old.delete(node);
          if (exitCodes.length === 1) await whileMixed();
          await sleep(calmMs);
        }
        seconds = (performance.now() - startedAt) / 1000;
      },
    };
  });
  balancer.stop();
  return { ...score, seconds, exitCodes, takenByOldNodes, overtaken: findOvertaken(score.sent, macs) };
}

async function upgrade({ service }: Node): Promise<number | null> {
  const { code } = await service.halt();
  service.main = CURRENT_MAIN;
  await service.start();
  await until(async () => (await fetch(`${service.operatorUrl}/readyz`)).ok, { every: 50 });
  return code;
}

/** Returns the messages that a newer one overtook. Messages whose webhooks were in flight at the same time have no order. */
export function findOvertaken(
  sent: readonly Sent[],
  macs: readonly Pick<ReconnectingMac, 'heard'>[],
): string[] {
  const taken = new Map(sent.map(({ messageId, attempts }) => [messageId, attempts.at(-1)]));
  return macs.flatMap(({ heard }) => {
    let newestAskedAt = -Infinity;
    return heard.flatMap(({ messageId }) => {
      const { askedAt = -Infinity, answeredAt = Infinity } = taken.get(messageId) ?? {};
      const isOvertaken = answeredAt < newestAskedAt;
      newestAskedAt = Math.max(newestAskedAt, askedAt);
      return isOvertaken ? [messageId] : [];
    });
  });
}

function hasFailed(report: UpgradeReport): boolean {
  return (
    JSON.stringify(report.violations) !== JSON.stringify(FLAWLESS) ||
    report.overtaken.length > 0 ||
    report.bugs.length > 0 ||
    report.exitCodes.some((code) => code !== 0) ||
    unexpectedResponses(report).length > 0
  );
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rate: { type: 'string', default: '200' },
      inbound: { type: 'string', default: '50' },
      nodes: { type: 'string', default: '3' },
      macs: { type: 'string', default: '20' },
      seconds: { type: 'string', default: '10' },
      seed: { type: 'string', default: '1' },
    },
  });
  if (!(await hasRedis()) || !(await hasPostgres())) {
    process.stderr.write(
      'Redis or PostgreSQL was not found; CONTRIBUTING.md explains how to provide them.\n',
    );
    process.exit(2);
  }
  const cleanup = createCleanup();
  const cluster = await startLastRelease(cleanup, Number(values.nodes));
  const report = await upgradeUnderLoad(cluster, {
    pace: { outbound: Number(values.rate), inbound: Number(values.inbound) },
    macs: Number(values.macs),
    seed: Number(values.seed),
    calmMs: Number(values.seconds) * 1000,
  });
  await cleanup.run();
  const { sent, ...printed } = report;
  const perSecond = { outbound: sent.length / report.seconds, inbound: report.inbound / report.seconds };
  process.stdout.write(`${JSON.stringify({ perSecond, ...printed }, null, 2)}\n`);
  process.exit(hasFailed(report) ? 1 : 0);
}
