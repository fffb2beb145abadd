import { setTimeout as sleep } from 'node:timers/promises';

import type { Arena, Lane } from '../arena.ts';
import { cpuMicros } from '../measure/process-costs.ts';
import type { Interval } from '../measure/profile.ts';
import { now } from '../environment/clock.ts';
import type { Work } from './work.ts';

/** Microseconds of CPU per message and round. */
export type Costs = Readonly<Record<string, readonly number[]>>;

/** Called with the interval in which a contestant was measured. */
export type Watch = (lane: Lane, interval: Interval) => void;

export interface Rounds {
  readonly rounds: number;
  /** Messages per contestant and round. */
  readonly messages: number;
  /** No round starts after this time, even if fewer than `rounds` have run. */
  readonly until?: number;
}

/**
 * Runs all contestants in every round, in a different order each time, so that other load on the machine affects them
 * equally. Only ratios within a round are compared.
 */
export async function measureCosts(
  { environment }: Arena,
  lanes: readonly Lane[],
  work: Work,
  { rounds, messages, until = Infinity }: Rounds,
  watch: Watch = () => undefined,
): Promise<Costs> {
  const costs = new Map<string, number[]>(lanes.map((lane) => [lane.name, []]));
  for (let round = 0; round < rounds && Date.now() < until; round++) {
    const run = await work.prepare(environment, lanes[0]?.locations ?? [], messages);
    for (const lane of rotated(lanes, round)) {
      const started = now();
      const before = cpuMicros(lane.pid);
      await work.perform(environment, lane, run, messages);
      await sleep(work.settleMs);
      watch(lane, [started, now()]);
      costs.get(lane.name)?.push((cpuMicros(lane.pid) - before) / messages);
    }
  }
  return Object.fromEntries(costs);
}

/** Warms up caches and compiled code with every location, without measuring. */
export async function warmUp(
  { environment }: Arena,
  lanes: readonly Lane[],
  work: Work,
  messages: number,
): Promise<void> {
  const run = await work.prepare(environment, lanes[0]?.locations ?? [], messages);
  for (const lane of lanes) await work.perform(environment, lane, run, messages);
}

/** Every contestant is first equally often. Odd rounds are reversed, so that the order of neighbours changes too. */
function rotated<T>(all: readonly T[], round: number): T[] {
  const start = round % all.length;
  const rotation = [...all.slice(start), ...all.slice(0, start)];
  return round % 2 === 0 ? rotation : rotation.toReversed();
}
