import { startRedis } from '@footbridge/testkit/servers/redis';

import { startWorker } from '../environment/worker.ts';
import type { Pinning } from '../measure/pinning.ts';
import type { LeaseCalls } from './lease-process.ts';
import { redisFigures, since } from './server-figures.ts';

export interface LeaseOptions {
  readonly macs: number;
  readonly processes: number;
  readonly idleMs: number;
  /** Messages to random Macs. */
  readonly messages: number;
}

/** CPU usage is in percent of one core. */
export interface LeaseFigures extends LeaseOptions {
  readonly bindsPerSec: number;
  /** Binds that were retried because Redis did not respond within a second. */
  readonly bindsRepeated: number;
  readonly bindRedisMicros: number;
  readonly redisBytesPerMac: number;
  readonly idle: {
    readonly requestsPerSec: number;
    readonly commandsPerSec: number;
    readonly redisCpu: number;
    readonly nodesCpu: number;
    readonly beatsPerSec: number;
    readonly longestStallMs: number;
    readonly lost: number;
  };
  readonly send: {
    readonly perSec: number;
    readonly redisMicros: number;
    readonly redisCommands: number;
    readonly nodeMicros: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
    readonly notWritten: number;
    readonly lost: number;
  };
}

/** Binds the Macs to several processes, lets them idle, and then sends messages between the processes. */
export async function measureLeases(options: LeaseOptions, pinning: Pinning): Promise<LeaseFigures> {
  const { macs, processes, idleMs, messages } = options;
  const redis = await startRedis();
  const nodes = Array.from({ length: processes }, () =>
    startWorker<LeaseCalls>(new URL('lease-process.ts', import.meta.url), pinning),
  );
  /** Runs a call on all nodes at once. Resolves with the results and what Redis used in the meantime. */
  async function during<T>(call: (node: (typeof nodes)[number], index: number) => Promise<T>) {
    const [before, startedAt] = [await redisFigures(redis.url), performance.now()];
    const results = await Promise.all(nodes.map(call));
    const seconds = (performance.now() - startedAt) / 1000;
    return { results, seconds, redis: since(before, await redisFigures(redis.url)) };
  }
  const sum = <T>(results: readonly T[], value: (result: T) => number) =>
    results.reduce((total, result) => total + value(result), 0);
  const max = <T>(results: readonly T[], value: (result: T) => number) => Math.max(...results.map(value));
  try {
    await Promise.all(nodes.map((node) => node.call('open', redis.url)));
    const share = Math.ceil(macs / processes);
    const bound = await during((node, index) =>
      node.call('bind', index * share, Math.min(share, macs - index * share)),
    );
    const idle = await during((node) => node.call('idle', idleMs));
    const each = Math.ceil(messages / processes);
    const sent = await during((node) => node.call('send', each, macs));
    const total = each * processes;
    return {
      ...options,
      bindsPerSec: macs / bound.seconds,
      bindsRepeated: sum(bound.results, ({ busy }) => busy),
      bindRedisMicros: bound.redis.cpuMicros / macs,
      redisBytesPerMac: bound.redis.memoryBytes / macs,
      idle: {
        requestsPerSec: idle.redis.requests / idle.seconds,
        commandsPerSec: idle.redis.commands / idle.seconds,
        redisCpu: idle.redis.cpuMicros / idle.seconds / 1e4,
        nodesCpu: sum(idle.results, ({ cpuMicros }) => cpuMicros) / idle.seconds / 1e4,
        beatsPerSec: sum(idle.results, ({ beats }) => beats) / idle.seconds,
        longestStallMs: max(idle.results, ({ longestStallMs }) => longestStallMs),
        lost: sum(idle.results, ({ lost }) => lost),
      },
      send: {
        perSec: total / sent.seconds,
        // Without the renewals of leases, which continue in the meantime.
        redisMicros: (sent.redis.cpuMicros - (idle.redis.cpuMicros / idle.seconds) * sent.seconds) / total,
        redisCommands: (sent.redis.commands - (idle.redis.commands / idle.seconds) * sent.seconds) / total,
        nodeMicros: sum(sent.results, ({ cpuMicros }) => cpuMicros) / total,
        p50Ms: max(sent.results, ({ p50Ms }) => p50Ms),
        p99Ms: max(sent.results, ({ p99Ms }) => p99Ms),
        notWritten: total - sum(sent.results, ({ written }) => written),
        lost: sum(sent.results, ({ lost }) => lost),
      },
    };
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await redis.stop();
  }
}
