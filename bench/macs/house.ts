// The service alone in this process, so that its memory and CPU are nobody else's. Told what to do by its parent.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';

import { createBridge } from '../../packages/service/src/bridge.ts';
import { systemClock } from '../../packages/service/src/clock.ts';
import type { Clock } from '../../packages/service/src/clock.ts';
import { loadConfig } from '../../packages/service/src/config/config.ts';
import { createLogger } from '../../packages/service/src/log.ts';

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

let longestTimer = 0;

/** Counts the CPU that each timer's task takes: on a machine shared with others, time on the clock says little. */
const watched: Clock = {
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

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
const { config } = loadConfig({ ...process.env, DATA_DIR: folder });
const log = createLogger(config.logLevel, { write: (line) => void process.stderr.write(line) });
const bridge = await createBridge(config, { log, clock: watched });
const stalls = monitorEventLoopDelay({ resolution: 10 });
stalls.enable();
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
  else
    void bridge.close().then(() => {
      rmSync(folder, { recursive: true, force: true });
      process.exit(0);
    });
});
process.send?.({ url: bridge.url, operatorUrl: bridge.operatorUrl, operatorToken: bridge.operatorToken });
