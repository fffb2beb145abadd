import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { createCleanup } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import type { Program } from '@footbridge/testkit/program';
import { until } from '@footbridge/testkit/until';

import { startCluster } from '../cluster.ts';
import type { Cluster } from '../cluster.ts';
import { seeded } from '@footbridge/testkit/seeded';
import { traffic } from '../traffic.ts';
import type { TrafficProgress } from '../traffic.ts';
import { AgentMac } from './agent-mac.ts';
import { keepAuthorised } from './keep-authorised.ts';
import { startBalancer } from './balancer.ts';
import { createInjector } from './inject-fault.ts';
import { preparePostgresDisk } from './postgres-disk.ts';
import { hasFailed, timelineOf } from './report.ts';
import type { CampaignOptions, InjectedFault, RoundReport } from './report.ts';
import type { ScheduledFault } from './schedule.ts';
import { writeFile } from './state-file.ts';
import { STEPPED_CLOCK } from './stepped-clock.ts';

export interface RoundOptions extends Pick<
  CampaignOptions,
  'nodes' | 'locations' | 'agents' | 'messages' | 'seed'
> {
  readonly round: number;
  readonly schedule: readonly ScheduledFault[];
  /** Where the logs of the nodes and agents of a failed round go. */
  readonly logsDir?: string;
  readonly onProgress?: (progress: TrafficProgress) => void;
  /** Ends the round early, with InterruptedError. */
  readonly signal?: AbortSignal;
}

export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
}

/** Faults that are injected at the same time. */
const FAULTS_AT_ONCE = 6;
/** Less than CRM_READ_LAG_SEC of the nodes. */
const READ_LAG_MS = 1500;
const BUCKET_MS = 1000;
/** A node may not start while its servers are away. */
const MAX_FAULT_MS = 120_000;

/** Starts servers, nodes, Macs and a CRM, sends messages both ways while the scheduled faults happen, and compares the ledgers. */
export async function runRound(options: RoundOptions): Promise<RoundReport> {
  const {
    round,
    messages,
    seed,
    nodes,
    locations,
    agents,
    schedule,
    logsDir,
    onProgress = () => {},
    signal,
  } = options;
  const cleanup = createCleanup();
  try {
    const env = {
      RATE_LIMIT_CRM_WEBHOOK: '1000000',
      RATE_LIMIT_MAC_SOCKET: '1000000',
      CRM_READ_LAG_SEC: '2',
      ...STEPPED_CLOCK,
    };
    const cluster = await startCluster(cleanup, { nodes, env });
    Object.assign(cluster.crm.settings, { honourIdempotencyKey: false, readLagMs: READ_LAG_MS });
    const disk = await preparePostgresDisk(cluster.postgres, cluster.database);
    const agentMacs = await startAgents(cleanup, cluster, agents, seed);
    const operator = keepAuthorised(cluster);
    cleanup.add(() => operator.stop());
    const startedAt = performance.now();
    const injected: InjectedFault[] = [];
    const queue = [...schedule];
    let underWay = 0;
    // Nothing must be started after the cleanup: neither an agent nor a node that a fault has stopped.
    const interruption = interrupted(signal, async () => {
      queue.length = 0;
      for (const agent of agentMacs) agent.stop();
      await until(() => underWay === 0, { within: MAX_FAULT_MS });
    });
    const finished = traffic(
      cluster,
      { messages, seed, locations, agents: agentMacs, onProgress },
      (macs) => {
        const inject = createInjector({ cluster, locations: macs, agents: agentMacs, disk });
        return {
          steps: schedule.length,
          atOnce: FAULTS_AT_ONCE,
          async step() {
            const fault = queue.shift();
            if (fault === undefined) return;
            const from = Math.round(performance.now() - startedAt);
            underWay++;
            await inject(fault).finally(() => underWay--);
            injected.push({ ...fault, from, to: Math.round(performance.now() - startedAt) });
            await sleep(fault.pauseMs);
          },
          async heal() {
            cluster.crm.clearFaults();
          },
        };
      },
    );
    const { sent, ...scored } = await Promise.race([finished, interruption]);
    // The score compares what was written: it must be everything.
    const unwritten =
      scored.inbound === messages ? [] : [`only ${scored.inbound} of ${messages} messages were written`];
    const result = { ...scored, bugs: [...scored.bugs, ...unwritten] };
    if (hasFailed(result) && logsDir !== undefined)
      saveLogs(join(logsDir, `round-${round + 1}`), cluster, agentMacs);
    const timeline = timelineOf(
      {
        sent,
        inboundAt: cluster.crm.messages.map(({ at }) => at),
        statusesAt: cluster.crm.statuses.filter(({ accepted }) => accepted).map(({ at }) => at),
      },
      startedAt,
      BUCKET_MS,
    );
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    return { round, messages, seed, seconds, schedule: injected, bucketMs: BUCKET_MS, timeline, ...result };
  } finally {
    await cleanup.run();
  }
}

/** Rejects when the signal is aborted and the work has been stopped; never without a signal. */
async function interrupted(signal: AbortSignal | undefined, stop: () => Promise<void>): Promise<never> {
  await new Promise<void>((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
  await stop();
  throw new InterruptedError('The round was interrupted.');
}

function saveLogs(dir: string, { nodes }: Cluster, agents: readonly AgentMac[]): void {
  const save = (name: string, { logs }: Program) =>
    writeFile(join(dir, `${name}.jsonl`), logs.map((line) => JSON.stringify(line)).join('\n'));
  for (const [index, { service }] of nodes.entries()) save(`node-${index}`, service);
  for (const [index, { agent }] of agents.entries()) save(`agent-${index}`, agent);
}

/** Each agent connects to random nodes and has a location of its own. */
function startAgents(cleanup: Cleanup, cluster: Cluster, count: number, seed: number): Promise<AgentMac[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const urls = cluster.nodes.map(({ macs, service }) => macs.url(service.url));
      const balancer = await startBalancer(cleanup, urls, seeded(seed + index));
      const location = await cluster.location();
      return AgentMac.start(cleanup, cluster.crm, balancer, { license: cluster.license.key, location });
    }),
  );
}
