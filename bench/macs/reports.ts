import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';

import { systemClock } from '../../packages/service/src/clock.ts';
import type { Clock } from '../../packages/service/src/clock.ts';

export interface HouseReport {
  readonly rss: number;
  readonly heap: number;
  /** Milliseconds of CPU since the last report. */
  readonly cpuMs: number;
  readonly elapsedMs: number;
  /** The longest the event loop was away since the last report, other processes on this machine included. */
  readonly longestStallMs: number;
  /** The most CPU that one timer of ours took in one go: what a stall would be on an idle machine. */
  readonly longestTimerMs: number;
}

/** Tells the parent what this process costs whenever it asks, and stops when it is told to. */
export function startReports(stop: () => unknown): { clock: Clock } {
  const stalls = monitorEventLoopDelay({ resolution: 10 });
  stalls.enable();
  let longestTimer = 0;
  let cpu = process.cpuUsage();
  let since = performance.now();

  function report(): HouseReport {
    const { user, system } = process.cpuUsage(cpu);
    const elapsedMs = performance.now() - since;
    const longestStallMs = stalls.max / 1e6;
    const longestTimerMs = longestTimer;
    // As V8 would when memory is short: room for young objects that a burst of connections made is no Mac's memory.
    for (let round = 0; round < 3; round++)
      globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    const { rss, heapUsed: heap } = process.memoryUsage();
    stalls.reset();
    longestTimer = 0;
    cpu = process.cpuUsage();
    since = performance.now();
    return { rss, heap, cpuMs: (user + system) / 1000, elapsedMs, longestStallMs, longestTimerMs };
  }

  process.on('message', (order) => {
    if (order === 'report') process.send?.(report());
    else void Promise.resolve(stop()).then(() => process.exit(0));
  });

  // Counts the CPU that each timer's task takes: on a machine shared with others, time on the clock says little.
  const clock: Clock = {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic(),
    after: (ms, task) =>
      systemClock.after(ms, () => {
        const before = process.threadCpuUsage();
        task();
        const { user, system } = process.threadCpuUsage(before);
        longestTimer = Math.max(longestTimer, (user + system) / 1000);
      }),
  };
  return { clock };
}
