// node scripts/run.mjs bench/macs.ts [--macs 1000,5000,10000] [--heartbeats 4] [--webhooks 2000]
// Idle Macs on one node: the cost of each, the cost of their heartbeats, and the duration of a reconnect storm.
// `ws` is the floor: the same sockets with only the ws library, on the same machine at the same time.
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { enrol, NO_LIMITS } from './candidates.ts';
import type { Credentials } from './environment/macs.ts';
import { locationNames } from './environment/messages.ts';
import { startWorker } from './environment/worker.ts';
import { withHarness } from './harness.ts';
import type { Harness } from './harness.ts';
import type { ServerCalls } from './macs/process-report.ts';
import { UNPINNED } from './measure/pinning.ts';
import { tail } from './measure/statistics.ts';
import { prepareWebhooks } from './scenarios/work.ts';

const HEARTBEAT_SEC = 15;
const PER_SECOND = 200;
const SETTLE_MS = 35_000;
const KIB = 1024;

const { values } = parseArgs({
  options: {
    macs: { type: 'string', default: '1000,5000,10000' },
    heartbeats: { type: 'string', default: '4' },
    webhooks: { type: 'string', default: '2000' },
  },
});

await withHarness({ pinning: UNPINNED }, async (harness) => {
  const columns =
    '| | Macs | connect all (CPU) | memory per Mac (heap) | heartbeat CPU | longest timer (CPU) | longest stall | webhook p50 / p99 | reconnect storm (CPU) |';
  const rows: string[] = [];
  for (const macs of values.macs.split(',').map(Number))
    for (const name of ['ws', 'footbridge'] as const) rows.push(await measure(harness, name, macs));
  console.log([columns, '|---|---|---|---|---|---|---|---|---|', ...rows].join('\n'));
});

/** Returns a row of the table. */
async function measure({ environment }: Harness, name: 'ws' | 'footbridge', macs: number): Promise<string> {
  const file = name === 'ws' ? 'macs/floor.ts' : 'macs/service-process.ts';
  const server = startWorker<ServerCalls>(new URL(file, import.meta.url), UNPINNED, {
    nodeArgs: ['--expose-gc'],
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      ADMIN_PORT: '0',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'warn',
      MAC_HEARTBEAT_SEC: String(HEARTBEAT_SEC),
      // By default a license does not take a location by itself.
      LOCATION_CLAIM: 'first',
      CRM_PUBLIC_KEY: environment.key.publicKey,
      ...NO_LIMITS,
    },
  });
  const { macs: fleet, load } = environment;
  const progress = (what: string) => console.error(`… ${name}, ${macs} Macs: ${what}`);
  try {
    const address = await server.call('open');
    progress('activating');
    const locations = locationNames(macs);
    const credentials: Credentials[] =
      name === 'ws'
        ? // The floor does not check tokens.
          locations.map((locationId) => ({ locationId, token: 'A'.repeat(43) }))
        : await enrol(address, locations);
    const enrolled = credentials.map((one) => ({ ...one, confirms: false, reports: false }));
    const empty = await server.call('report');
    progress('connecting');
    const acceptedSec = await seconds(fleet.call('connect', name, address.url, enrolled, macs));
    // Waits for writes that the connections have caused, so that the server is idle afterwards.
    await sleep(SETTLE_MS);
    const full = await server.call('report');
    // A report collects all garbage, after which V8 collects again at the next check for issues.
    await sleep(SETTLE_MS);
    progress(`idle for ${values.heartbeats} heartbeats`);
    await server.call('reset');
    await sleep(Number(values.heartbeats) * HEARTBEAT_SEC * 1000);
    const idle = await server.call('report');
    await server.call('watchStalls');
    await sleep(SETTLE_MS);
    const watched = await server.call('report');
    let webhook = '';
    if (name === 'footbridge') {
      await prepareWebhooks(environment, locations, Number(values.webhooks));
      const { p50, p99 } = tail((await load.call('fixedRate', address.url, PER_SECOND)).latencyMs);
      webhook = `${p50.toFixed(1)} / ${p99.toFixed(1)} ms`;
    }
    await server.call('report');
    progress('all reconnecting at once');
    const stormSec = await seconds(fleet.call('reconnect', name));
    const stormed = await server.call('report');
    const perMac = (bytes: number) => `${(bytes / macs / KIB).toFixed(1)} KiB`;
    const took = (sec: number, { cpuMs }: { cpuMs: number }) =>
      `${sec.toFixed(1)} s (${(cpuMs / 1000).toFixed(1)} s)`;
    const cells = [
      name,
      macs,
      took(acceptedSec, full),
      `${perMac(Math.max(full.rss, idle.rss) - empty.rss)} (${perMac(idle.heap - empty.heap)})`,
      `${((100 * idle.cpuMs) / idle.elapsedMs).toFixed(1)} %`,
      `${idle.longestTimerMs.toFixed(1)} ms`,
      `${watched.longestStallMs.toFixed(0)} ms`,
      webhook,
      took(stormSec, stormed),
    ];
    return `| ${cells.join(' | ')} |`;
  } finally {
    await fleet.call('disconnect', name);
    await server.call('close');
    await server.stop();
  }
}

async function seconds(task: Promise<unknown>): Promise<number> {
  const started = performance.now();
  await task;
  return (performance.now() - started) / 1000;
}
