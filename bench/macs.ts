// node bench/macs.ts [--macs 1000,5000,10000] [--heartbeats 2] [--webhooks 2000]
// Idle Macs on one node: what each costs, what their heartbeats cost, and how long a storm of reconnects takes.
// `ws` is the floor: the same sockets on nothing but the library, on the same machine and in the same minutes.
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { parseArgs } from 'node:util';

import { ed25519Key, signedRequest } from '@footbridge/testkit/keys';
import { activate } from '@footbridge/testkit/mac';
import { Agent, request } from 'undici';

import type { FleetOrder, FleetReport } from './macs/fleet.ts';
import type { HouseReport } from './macs/reports.ts';

const HEARTBEAT_SEC = 15;
const SEATS = 100;
const PER_SECOND = 200;
const SETTLE_MS = 35_000;

const { values } = parseArgs({
  options: {
    macs: { type: 'string', default: '1000,5000,10000' },
    heartbeats: { type: 'string', default: '2' },
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
  const house = await startHouse(name === 'ws' ? 'macs/floor.ts' : 'macs/house.ts');
  const fleet = fork(new URL('macs/fleet.ts', import.meta.url).pathname);
  try {
    say(`${name}, ${macs} Macs: activating`);
    const enrolled = name === 'ws' ? strangers(macs) : await enrol(house.address, macs);
    const empty = await ask<HouseReport>(house.child, 'report');
    say(`${name}, ${macs} Macs: connecting`);
    const url = `${house.address.url}/mac/socket`;
    const accepted = await ask<FleetReport>(fleet, { do: 'connect', url, macs: enrolled });
    // What a storm leaves to be written is written; idle is what comes after.
    await pause(SETTLE_MS);
    const full = await ask<HouseReport>(house.child, 'report');
    say(`${name}, ${macs} Macs: idle for ${values.heartbeats} heartbeats`);
    await pause(Number(values.heartbeats) * HEARTBEAT_SEC * 1000);
    const idle = await ask<HouseReport>(house.child, 'report');
    const count = name === 'ws' ? 0 : Number(values.webhooks);
    const latencies = await webhooks(house.address.url, enrolled, count);
    await ask<HouseReport>(house.child, 'report');
    say(`${name}, ${macs} Macs: all gone and back at once`);
    const storm = await ask<FleetReport>(fleet, { do: 'storm' });
    const stormed = await ask<HouseReport>(house.child, 'report');
    return {
      name,
      macs,
      acceptedSec: accepted.ms / 1000,
      acceptedCpuSec: full.cpuMs / 1000,
      kibPerMac: (Math.max(full.rss, idle.rss) - empty.rss) / macs / 1024,
      heapKibPerMac: (idle.heap - empty.heap) / macs / 1024,
      heartbeatCpu: (100 * idle.cpuMs) / idle.elapsedMs,
      longestTimerMs: idle.longestTimerMs,
      longestStallMs: idle.longestStallMs,
      webhookP50: percentile(latencies, 0.5),
      webhookP99: percentile(latencies, 0.99),
      stormSec: storm.ms / 1000,
      stormCpuSec: stormed.cpuMs / 1000,
      lost: macs - storm.bound,
    };
  } finally {
    fleet.send({ do: 'leave' } satisfies FleetOrder);
    house.child.send('stop');
    await once(house.child, 'exit');
  }
}

interface Address {
  readonly url: string;
  readonly operatorUrl: string;
  readonly operatorToken: string;
}

async function startHouse(file: string): Promise<{ child: ChildProcess; address: Address }> {
  const plenty = '1000000';
  const child = fork(new URL(file, import.meta.url).pathname, {
    execArgv: ['--expose-gc'],
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      ADMIN_PORT: '0',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'warn',
      MAC_HEARTBEAT_SEC: String(HEARTBEAT_SEC),
      CRM_PUBLIC_KEY: key.publicKey,
      RATE_LIMIT_ENROLMENT: plenty,
      RATE_LIMIT_MAC_SOCKET: plenty,
      RATE_LIMIT_CRM_WEBHOOK: plenty,
    },
  });
  const [address] = (await once(child, 'message')) as [Address];
  return { child, address };
}

function strangers(macs: number): [string, string][] {
  return Array.from({ length: macs }, (_, index) => ['A'.repeat(43), `loc${index}`]);
}

/** Token and location of every Mac. */
async function enrol(
  { url, operatorUrl, operatorToken }: Address,
  macs: number,
): Promise<[string, string][]> {
  const enrolled: [string, string][] = [];
  while (enrolled.length < macs) {
    const answer = await fetch(`${operatorUrl}/operator/licenses`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${operatorToken}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ label: 'bench', maxSeats: SEATS }),
    });
    const { key: licenseKey } = (await answer.json()) as { key: string };
    const seats = Math.min(SEATS, macs - enrolled.length);
    const activated = await Promise.all(Array.from({ length: seats }, () => activate(url, { licenseKey })));
    for (const { deviceToken = '' } of activated) enrolled.push([deviceToken, `loc${enrolled.length}`]);
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
        const since = performance.now();
        const answer = await request(`${url}/crm/webhook`, {
          ...signedRequest(body, key),
          dispatcher: agent,
        });
        await answer.body.dump();
        if (answer.statusCode !== 200) throw new Error(`a webhook was answered with ${answer.statusCode}`);
        latencies.push(performance.now() - since);
      })(),
    );
    await pause(1000 / PER_SECOND);
  }
  await Promise.all(pending);
  await agent.close();
  return latencies;
}

async function ask<Answer>(child: ChildProcess, order: 'report' | FleetOrder): Promise<Answer> {
  const answer = once(child, 'message');
  child.send(order);
  const [message] = (await answer) as [Answer];
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

function say(what: string): void {
  console.error(`… ${what}`);
}

function print(results: readonly Row[]): void {
  console.log(
    '| | Macs | all accepted in (CPU) | memory each (heap) | CPU of heartbeats | longest timer (CPU) | longest stall | webhook p50 / p99 | storm (CPU) | lost |',
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
