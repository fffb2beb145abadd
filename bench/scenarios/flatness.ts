import { setTimeout as sleep } from 'node:timers/promises';

import type { Arena, Lane } from '../arena.ts';
import { cpuMicros, residentBytes } from '../measure/process-costs.ts';
import { CONCURRENCY, beginOutbound, endOutbound, prepareWebhooks } from './work.ts';

export interface Flatness {
  /** Microseconds of CPU per outbound message and round, without the background load. */
  readonly micros: Readonly<Record<string, readonly number[]>>;
  /** Microseconds of CPU per second without messages: heartbeats, timers. */
  readonly backgroundPerSecond: Readonly<Record<string, number>>;
  readonly residentBytes: Readonly<Record<string, number>>;
}

/** A location may make 90 calls in ten seconds, two per message. Bursts stay below this limit. */
const PER_LOCATION = 40;
const WINDOW_MS = 10_500;
const SETTLE_MS = 500;

export interface FlatLane {
  readonly lane: Lane;
  /** The keys that sign, by round, instead of the key of the environment. */
  readonly privateKeys?: readonly string[];
}

/** Sends the same small load to contestants that differ only in the number of connected Macs or trusted keys. */
export async function measureFlatness(
  { environment }: Arena,
  lanes: readonly FlatLane[],
  rounds: number,
  activeLocations = 10,
): Promise<Flatness> {
  const count = activeLocations * PER_LOCATION;
  const micros = new Map<string, number[]>(lanes.map(({ lane }) => [lane.name, []]));
  const background = new Map<string, number>();
  for (let round = 0; round <= rounds; round++) {
    const windowEnds = Date.now() + WINDOW_MS;
    for (const { lane, privateKeys } of lanes) {
      const run = await prepareWebhooks(
        environment,
        lane.locations.slice(0, activeLocations),
        count,
        'signed',
        privateKeys?.[round % privateKeys.length] ?? environment.key.privateKey,
      );
      const before = cpuMicros(lane.pid);
      const started = Date.now();
      await beginOutbound(environment, lane, run, count);
      await endOutbound(
        environment,
        lane,
        count,
        await environment.load.call('closedLoop', lane.url, CONCURRENCY),
      );
      await sleep(SETTLE_MS);
      const spent = cpuMicros(lane.pid) - before;
      const idle = ((background.get(lane.name) ?? 0) * (Date.now() - started)) / 1000;
      // The first round is a warm-up and measures the background load.
      if (round > 0) micros.get(lane.name)?.push((spent - idle) / count);
    }
    const rest = windowEnds - Date.now();
    if (rest > 0) await measureBackground(lanes, background, rest);
  }
  return {
    micros: Object.fromEntries(micros),
    backgroundPerSecond: Object.fromEntries(background),
    residentBytes: Object.fromEntries(lanes.map(({ lane }) => [lane.name, residentBytes(lane.pid)])),
  };
}

async function measureBackground(
  lanes: readonly FlatLane[],
  background: Map<string, number>,
  ms: number,
): Promise<void> {
  const before = lanes.map(({ lane }) => cpuMicros(lane.pid));
  await sleep(ms);
  for (const [index, { lane }] of lanes.entries())
    background.set(lane.name, (cpuMicros(lane.pid) - (before[index] ?? 0)) / (ms / 1000));
}
