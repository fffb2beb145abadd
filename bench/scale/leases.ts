import { startRedis } from '@footbridge/testkit/servers/redis';

import { startWorker } from '../environment/worker.ts';
import { UNPINNED } from '../measure/pinning.ts';
import { redisFigures, since } from '../measure/server-figures.ts';
import type { LeaseCalls, Usage } from './lease-process.ts';

interface LeaseOptions {
  readonly macs: number;
  readonly processes: number;
  /** The time without messages. */
  readonly seconds: number;
  /** Messages to random Macs. */
  readonly messages: number;
}

/** Percent of a core for microseconds of CPU per second. */
const percent = (microsPerSec: number) => microsPerSec / 1e4;

/** Binds the Macs to several processes, lets them idle, and then sends messages between the processes. */
export async function measureLeases({ macs, processes, seconds, messages }: LeaseOptions) {
  const redis = await startRedis();
  const nodes = Array.from({ length: processes }, () =>
    startWorker<LeaseCalls>(new URL('lease-process.ts', import.meta.url), UNPINNED),
  );
  /** Runs a call on all nodes at once. Resolves with what they and Redis used in the meantime. */
  async function during(call: (node: (typeof nodes)[number], index: number) => Promise<Usage>) {
    const [before, startedAt] = [await redisFigures(redis.url), performance.now()];
    const used = await Promise.all(nodes.map(call));
    const took = (performance.now() - startedAt) / 1000;
    const sum = (of: (usage: Usage) => number) => used.reduce((total, usage) => total + of(usage), 0);
    return { sum, took, redis: since(before, await redisFigures(redis.url)) };
  }
  try {
    await Promise.all(nodes.map((node) => node.call('open', redis.url)));
    const share = Math.ceil(macs / processes);
    const bound = await during((node, index) =>
      node.call('bind', index * share, Math.min(share, macs - index * share)),
    );
    const idle = await during((node) => node.call('idle', seconds * 1000));
    const perSec = (used: number) => used / idle.took;
    const each = Math.ceil(messages / processes);
    const sent = await during((node) => node.call('send', each, macs));
    // Without the renewals of leases, which continue in the meantime.
    const routed = (used: number, whileIdle: number) =>
      (used - perSec(whileIdle) * sent.took) / (each * processes);
    return {
      bindsPerSec: macs / bound.took,
      bindsRepeated: bound.sum(({ busy }) => busy),
      redisBytesPerMac: bound.redis.memoryBytes / macs,
      idle: {
        requestsPerSec: perSec(idle.redis.requests),
        commandsPerSec: perSec(idle.redis.commands),
        redisCpu: percent(perSec(idle.redis.cpuMicros)),
        nodesCpu: percent(perSec(idle.sum(({ cpuMicros }) => cpuMicros))),
        beatsPerSec: perSec(idle.sum(({ beats }) => beats)),
      },
      send: {
        redisMicros: routed(sent.redis.cpuMicros, idle.redis.cpuMicros),
        redisCommands: routed(sent.redis.commands, idle.redis.commands),
        notWritten: sent.sum(({ notWritten }) => notWritten),
      },
      lost: idle.sum(({ lost }) => lost) + sent.sum(({ lost }) => lost),
    };
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
    await redis.stop();
  }
}
