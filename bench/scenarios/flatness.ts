import { setTimeout as sleep } from 'node:timers/promises';

import type { Arena, Lane } from '../arena.ts';
import { cpuMicros, residentBytes } from '../measure/process-costs.ts';
import { CONCURRENCY, beginOutbound, endOutbound, prepareWebhooks } from './work.ts';

export interface Flatness {
  /** Microseconds of CPU per outbound message and round, the background subtracted. */
  readonly micros: Readonly<Record<string, readonly number[]>>;
  /** Microseconds of CPU per second while no message is under way: heartbeats, timers. */
  readonly backgroundPerSecond: Readonly<Record<string, number>>;
  readonly residentBytes: Readonly<Record<string, number>>;
}

/** A location may make 90 calls in ten seconds, two per message: bursts stay below and wait for the next window. */
const PER_LOCATION = 40;
const WINDOW_MS = 10_500;
const SETTLE_MS = 500;

export interface FlatLane {
  readonly lane: Lane;
  /** Who signs for location i, when it is not the one key of the world. */
  readonly privateKeys?: readonly string[];
}

/**
 * The same small traffic on contestants that differ in one thing only: how many Macs are connected besides, or how many keys
 * are trusted besides.
 */
export async function measureFlatness(
  { world }: Arena,
  lanes: readonly FlatLane[],
  rounds: number,
  talking = 10,
): Promise<Flatness> {
  const count = talking * PER_LOCATION;
  const micros = new Map<string, number[]>(lanes.map(({ lane }) => [lane.name, []]));
  const background = new Map<string, number>();
  for (let round = 0; round <= rounds; round++) {
    const windowEnds = Date.now() + WINDOW_MS;
    for (const { lane, privateKeys } of lanes) {
      const run = await prepareWebhooks(
        world,
        lane.locations.slice(0, talking),
        count,
        'signed',
        privateKeys?.[round % privateKeys.length] ?? world.key.privateKey,
      );
      const before = cpuMicros(lane.pid);
      const begun = Date.now();
      await beginOutbound(world, lane, run, count);
      await endOutbound(world, lane, count, await world.load.call('closedLoop', lane.url, CONCURRENCY));
      await sleep(SETTLE_MS);
      const spent = cpuMicros(lane.pid) - before;
      const idle = ((background.get(lane.name) ?? 0) * (Date.now() - begun)) / 1000;
      // The first round warms up and finds out the background.
      if (round > 0) micros.get(lane.name)?.push((spent - idle) / count);
    }
    const rest = windowEnds - Date.now();
    if (rest > 0) await quiet(lanes, background, rest);
  }
  return {
    micros: Object.fromEntries(micros),
    backgroundPerSecond: Object.fromEntries(background),
    residentBytes: Object.fromEntries(lanes.map(({ lane }) => [lane.name, residentBytes(lane.pid)])),
  };
}

async function quiet(lanes: readonly FlatLane[], background: Map<string, number>, ms: number): Promise<void> {
  const before = lanes.map(({ lane }) => cpuMicros(lane.pid));
  await sleep(ms);
  for (const [index, { lane }] of lanes.entries())
    background.set(lane.name, (cpuMicros(lane.pid) - (before[index] ?? 0)) / (ms / 1000));
}
