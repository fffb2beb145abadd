import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';

import { sleepWith, systemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';

export interface ProcessReport {
  readonly rss: number;
  readonly heap: number;
  /** Milliseconds of CPU since the last `report` or `reset`. */
  readonly cpuMs: number;
  readonly elapsedMs: number;
  /** The longest event loop delay since `watch-stalls`, including delays caused by other processes. */
  readonly longestStallMs: number;
  /** The maximum CPU time of a single timer callback: the delay that it would cause on an idle machine. */
  readonly longestTimerMs: number;
}

/** `reset` only starts the measurement of the CPU time again, without a collection of garbage. */
export type ReportCommand = 'report' | 'reset' | 'watch-stalls' | 'stop';

/** Reports the cost of this process to the parent on request. */
export function serveReports(stop: () => unknown): { clock: Clock } {
  // Not enabled while CPU time is measured: its timer takes 0.45 % of a core.
  const stalls = monitorEventLoopDelay({ resolution: 10 });
  let longestTimer = 0;
  let cpu = process.cpuUsage();
  let since = performance.now();

  function reset(): void {
    longestTimer = 0;
    cpu = process.cpuUsage();
    since = performance.now();
  }

  function report(): ProcessReport {
    const { user, system } = process.cpuUsage(cpu);
    const elapsedMs = performance.now() - since;
    const longestStallMs = stalls.max / 1e6;
    const longestTimerMs = longestTimer;
    stalls.disable();
    // Collects garbage as V8 does under memory pressure: the space of short-lived objects does not belong to the Macs.
    for (let round = 0; round < 3; round++)
      globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    const { rss, heapUsed: heap } = process.memoryUsage();
    reset();
    return { rss, heap, cpuMs: (user + system) / 1000, elapsedMs, longestStallMs, longestTimerMs };
  }

  function watchStalls(): void {
    stalls.reset();
    stalls.enable();
  }

  const commands = { report, reset, 'watch-stalls': watchStalls };
  process.on('message', (command: ReportCommand) => {
    if (command === 'stop') void Promise.resolve(stop()).then(() => process.exit(0));
    else process.send?.(commands[command]() ?? null);
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
