import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';

import { sleepWith, systemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';

import type { Addresses } from '../candidates.ts';
import { serve } from '../environment/worker.ts';

// Not enabled while CPU time is measured: its timer takes 0.45 % of a core.
const stalls = monitorEventLoopDelay({ resolution: 10 });
let longestTimer = 0;
let cpu = process.cpuUsage();
let since = performance.now();

/** Starts the measurement of the CPU time again, without a collection of garbage. */
function reset(): void {
  longestTimer = 0;
  cpu = process.cpuUsage();
  since = performance.now();
}

/** What this process cost since the last `report` or `reset`. */
function report() {
  const { user, system } = process.cpuUsage(cpu);
  const elapsedMs = performance.now() - since;
  stalls.disable();
  // Collects garbage as V8 does under memory pressure: the space of short-lived objects does not belong to the Macs.
  for (let round = 0; round < 3; round++)
    globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  const { rss, heapUsed: heap } = process.memoryUsage();
  const result = {
    rss,
    heap,
    cpuMs: (user + system) / 1000,
    elapsedMs,
    /** The longest event loop delay since `watchStalls`, including delays caused by other processes. */
    longestStallMs: stalls.max / 1e6,
    /** The maximum CPU time of a single timer callback: the delay that it would cause on an idle machine. */
    longestTimerMs: longestTimer,
  };
  reset();
  return result;
}

function watchStalls(): void {
  stalls.reset();
  stalls.enable();
}

// Measures the CPU time of each timer callback, because wall-clock time is unreliable on a shared machine.
const after: Clock['after'] = (ms, task) =>
  systemClock.after(ms, () => {
    const before = process.threadCpuUsage();
    task();
    const { user, system } = process.threadCpuUsage(before);
    longestTimer = Math.max(longestTimer, (user + system) / 1000);
  });

/** The clock of the server in this process. */
export const clock: Clock = { ...systemClock, after, sleep: (ms, signal) => sleepWith(after, ms, signal) };

const reports = { report, reset, watchStalls };
export type ServerCalls = typeof reports & { open(): Promise<Addresses>; close(): Promise<void> };

/** Serves the calls of the benchmark: those of this server, and reports of what its process costs. */
export function serveServer(server: Pick<ServerCalls, 'open' | 'close'>): void {
  serve({ ...reports, ...server });
}
