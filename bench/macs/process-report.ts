import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';

import { sleepWith, systemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';

export interface ProcessReport {
  readonly rss: number;
  readonly heap: number;
  /** Milliseconds of CPU since the last report. */
  readonly cpuMs: number;
  readonly elapsedMs: number;
  /** The longest event loop delay since the last report, including delays caused by other processes. */
  readonly longestStallMs: number;
  /** The maximum CPU time of a single timer callback: the delay that it would cause on an idle machine. */
  readonly longestTimerMs: number;
}

/** Reports the cost of this process to the parent on request, and stops on any other message. */
export function serveReports(stop: () => unknown): { clock: Clock } {
  const stalls = monitorEventLoopDelay({ resolution: 10 });
  stalls.enable();
  let longestTimer = 0;
  let cpu = process.cpuUsage();
  let since = performance.now();

  function report(): ProcessReport {
    const { user, system } = process.cpuUsage(cpu);
    const elapsedMs = performance.now() - since;
    const longestStallMs = stalls.max / 1e6;
    const longestTimerMs = longestTimer;
    // Collects garbage as V8 does under memory pressure: the space of short-lived objects does not belong to the Macs.
    for (let round = 0; round < 3; round++)
      globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    const { rss, heapUsed: heap } = process.memoryUsage();
    // Later: the delay that the collections have caused is recorded at the next tick.
    setTimeout(() => stalls.reset(), 100);
    longestTimer = 0;
    cpu = process.cpuUsage();
    since = performance.now();
    return { rss, heap, cpuMs: (user + system) / 1000, elapsedMs, longestStallMs, longestTimerMs };
  }

  process.on('message', (command) => {
    if (command === 'report') process.send?.(report());
    else void Promise.resolve(stop()).then(() => process.exit(0));
  });

  // Measures the CPU time of each timer callback, because wall-clock time is unreliable on a shared machine.
  const after: Clock['after'] = (ms, task) =>
    systemClock.after(ms, () => {
      const before = process.threadCpuUsage();
      task();
      const { user, system } = process.threadCpuUsage(before);
      longestTimer = Math.max(longestTimer, (user + system) / 1000);
    });
  const clock: Clock = { ...systemClock, after, sleep: (ms, signal) => sleepWith(after, ms, signal) };
  return { clock };
}
