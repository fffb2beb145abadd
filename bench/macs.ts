// node bench/macs.ts [--macs 1000,5000,10000] [--heartbeats 4] [--webhooks 2000]
// Idle Macs on one node: the cost of each, the cost of their heartbeats, and the duration of a reconnect storm.
// `ws` is the floor: the same sockets with only the ws library, on the same machine at the same time.
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { parseArgs } from 'node:util';

import { ed25519Key, signedRequest } from '@footbridge/testkit/keys';
import { activate } from '@footbridge/testkit/mac';
import { Agent, request } from 'undici';

import type { FleetCommand, FleetReport } from './macs/fleet.ts';
import type { ProcessReport, ReportCommand } from './macs/process-report.ts';

const HEARTBEAT_SEC = 15;
/** The Macs of a license, activated at the same time. The service allows an address 64 enrolments at once. */
const SEATS = 50;
const PER_SECOND = 200;
const SETTLE_MS = 35_000;

const { values } = parseArgs({
  options: {
    macs: { type: 'string', default: '1000,5000,10000' },
    heartbeats: { type: 'string', default: '4' },
    webhooks: { type: 'string', default: '2000' },
  },
});

interface Row {
  readonly name: string;
  readonly macs: number;
  readonly acceptedSec: number;
  readonly acceptedCpuSec: number;
  readonly kibPerMac: number;
  readonly heapKibPerMac: number;
  readonly heartbeatCpu: number;
  readonly longestTimerMs: number;
  readonly longestStallMs: number;
  readonly webhookP50: number;
  readonly webhookP99: number;
  readonly stormSec: number;
  readonly stormCpuSec: number;
  readonly lost: number;
}

const key = ed25519Key('bench');
const rows: Row[] = [];
for (const macs of values.macs.split(',').map(Number))
  for (const name of ['ws', 'footbridge'] as const) rows.push(await measure(name, macs));
print(rows);
process.exit(0);

async function measure(name: 'ws' | 'footbridge', macs: number): Promise<Row> {
  const server = await startServer(name === 'ws' ? 'macs/floor.ts' : 'macs/service-process.ts');
  const fleet = fork(new URL('macs/fleet.ts', import.meta.url).pathname);
  try {
    progress(`${name}, ${macs} Macs: activating`);
    const enrolled = name === 'ws' ? placeholders(macs) : await enrol(server.address, macs);
    const empty = await send<ProcessReport>(server.child, 'report');
    progress(`${name}, ${macs} Macs: connecting`);
    const url = `${server.address.url}/mac/socket`;
    const accepted = await send<FleetReport>(fleet, { do: 'connect', url, macs: enrolled });
    // Waits for writes that the connections have caused, so that the server is idle afterwards.
    await pause(SETTLE_MS);
    const full = await send<ProcessReport>(server.child, 'report');
    // A report collects all garbage, after which V8 collects again at the next check for issues.
    await pause(SETTLE_MS);
    progress(`${name}, ${macs} Macs: idle for ${values.heartbeats} heartbeats`);
    await send(server.child, 'reset');
    await pause(Number(values.heartbeats) * HEARTBEAT_SEC * 1000);
    const idle = await send<ProcessReport>(server.child, 'report');
    await send(server.child, 'watch-stalls');
    await pause(SETTLE_MS);
    const watched = await send<ProcessReport>(server.child, 'report');
    const count = name === 'ws' ? 0 : Number(values.webhooks);
    const latencies = await webhooks(server.address.url, enrolled, count);
    await send<ProcessReport>(server.child, 'report');
    progress(`${name}, ${macs} Macs: all reconnecting at once`);
    const storm = await send<FleetReport>(fleet, { do: 'storm' });
    const stormed = await send<ProcessReport>(server.child, 'report');
    return {
      name,
      macs,
      acceptedSec: accepted.ms / 1000,
      acceptedCpuSec: full.cpuMs / 1000,
      kibPerMac: (Math.max(full.rss, idle.rss) - empty.rss) / macs / 1024,
      heapKibPerMac: (idle.heap - empty.heap) / macs / 1024,
      heartbeatCpu: (100 * idle.cpuMs) / idle.elapsedMs,
      longestTimerMs: idle.longestTimerMs,
      longestStallMs: watched.longestStallMs,
      webhookP50: percentile(latencies, 0.5),
      webhookP99: percentile(latencies, 0.99),
      stormSec: storm.ms / 1000,
      stormCpuSec: stormed.cpuMs / 1000,
      lost: macs - storm.registered,
    };
  } finally {
    if (fleet.connected) fleet.send({ do: 'leave' } satisfies FleetCommand);
    server.child.send('stop');
    await once(server.child, 'exit');
  }
}

interface Address {
  readonly url: string;
  readonly operatorUrl: string;
  readonly operatorToken: string;
}

async function startServer(file: string): Promise<{ child: ChildProcess; address: Address }> {
  const unlimited = '1000000';
  const child = fork(new URL(file, import.meta.url).pathname, {
    execArgv: ['--expose-gc'],
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      ADMIN_PORT: '0',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'warn',
      MAC_HEARTBEAT_SEC: String(HEARTBEAT_SEC),
      // By default a second license does not take a location by itself.
      LOCATION_CLAIM: 'first',
      CRM_PUBLIC_KEY: key.publicKey,
      RATE_LIMIT_ENROLMENT: unlimited,
      RATE_LIMIT_MAC_SOCKET: unlimited,
      RATE_LIMIT_CRM_WEBHOOK: unlimited,
    },
  });
  const [address] = (await once(child, 'message')) as [Address];
  return { child, address };
}

/** The floor does not check tokens. */
function placeholders(macs: number): [string, string][] {
  return Array.from({ length: macs }, (_, index) => ['A'.repeat(43), `loc${index}`]);
}

/** Activates the Macs. Returns the token and the location of each. */
async function enrol(
  { url, operatorUrl, operatorToken }: Address,
  macs: number,
): Promise<[string, string][]> {
  const enrolled: [string, string][] = [];
  while (enrolled.length < macs) {
    const response = await fetch(`${operatorUrl}/operator/licenses`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${operatorToken}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ label: 'bench', maxSeats: SEATS }),
    });
    const { key: licenseKey } = (await response.json()) as { key: string };
    const seats = Math.min(SEATS, macs - enrolled.length);
    const activated = await Promise.all(Array.from({ length: seats }, () => activate(url, { licenseKey })));
    for (const { deviceToken, status } of activated) {
      if (deviceToken === undefined) throw new Error(`the activation of a Mac got HTTP ${status}`);
      enrolled.push([deviceToken, `loc${enrolled.length}`]);
    }
  }
  return enrolled;
}

async function webhooks(url: string, macs: readonly (readonly string[])[], count: number): Promise<number[]> {
  const agent = new Agent({ connections: 8 });
  const latencies: number[] = [];
  const pending: Promise<void>[] = [];
  for (let sent = 0; sent < count; sent++) {
    const [, locationId = ''] = macs[Math.floor(Math.random() * macs.length)] ?? [];
    const body = {
      locationId,
      contactId: 'c1',
      phone: '+15555550100',
      message: 'Hi',
      messageId: `m-${sent}`,
    };
    pending.push(
      (async () => {
        const started = performance.now();
        const response = await request(`${url}/crm/webhook`, {
          ...signedRequest(body, key),
          dispatcher: agent,
        });
        await response.body.dump();
        if (response.statusCode !== 200) throw new Error(`a webhook got HTTP ${response.statusCode}`);
        latencies.push(performance.now() - started);
      })(),
    );
    await pause(1000 / PER_SECOND);
  }
  await Promise.all(pending);
  await agent.close();
  return latencies;
}

async function send<Reply>(child: ChildProcess, command: ReportCommand | FleetCommand): Promise<Reply> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const reply = Promise.race([
    once(child, 'message', { signal }),
    once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`a process of the benchmark ended with ${code}`);
    }),
  ]);
  child.send(command);
  const [message] = (await reply) as [Reply];
  waiting.abort();
  return message;
}

function percentile(values_: readonly number[], share: number): number {
  const sorted = values_.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

function progress(message: string): void {
  console.error(`… ${message}`);
}

function print(results: readonly Row[]): void {
  console.log(
    '| | Macs | connect all (CPU) | memory per Mac (heap) | heartbeat CPU | longest timer (CPU) | longest stall | webhook p50 / p99 | reconnect storm (CPU) | lost |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|---|');
  for (const row of results)
    console.log(
      `| ${row.name} | ${row.macs} | ${row.acceptedSec.toFixed(1)} s (${row.acceptedCpuSec.toFixed(1)} s) ` +
        `| ${row.kibPerMac.toFixed(1)} KiB (${row.heapKibPerMac.toFixed(1)} KiB) | ${row.heartbeatCpu.toFixed(1)} % ` +
        `| ${row.longestTimerMs.toFixed(1)} ms | ${row.longestStallMs.toFixed(0)} ms ` +
        `| ${row.name === 'ws' ? '' : `${row.webhookP50.toFixed(1)} / ${row.webhookP99.toFixed(1)} ms`} ` +
        `| ${row.stormSec.toFixed(1)} s (${row.stormCpuSec.toFixed(1)} s) | ${row.lost} |`,
    );
}
