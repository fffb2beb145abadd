import { setTimeout as sleep } from 'node:timers/promises';

import type { Arena, Lane } from '../arena.ts';
import { cpuMicros } from '../measure/process-costs.ts';
import type { Stretch } from '../measure/profile.ts';
import { now } from '../world/clock.ts';
import type { Work } from './work.ts';

/** Microseconds of CPU per message and round. */
export type Costs = Readonly<Record<string, readonly number[]>>;

/** Told when a contestant was at work, for those who look into it. */
export type Watch = (lane: Lane, stretch: Stretch) => void;

export interface Rounds {
  readonly rounds: number;
  /** Messages per contestant and round. */
  readonly messages: number;
  /** No round begins after this moment, whatever `rounds` says. */
  readonly until?: number;
}

/**
 * All contestants in every round, each time in another order, so that whatever else the machine does hits them alike:
 * what counts is the ratio within a round.
 */
export async function measureCosts(
  { world }: Arena,
  lanes: readonly Lane[],
  work: Work,
  { rounds, messages, until = Infinity }: Rounds,
  watch: Watch = () => undefined,
): Promise<Costs> {
  const costs = new Map<string, number[]>(lanes.map((lane) => [lane.name, []]));
  for (let round = 0; round < rounds && Date.now() < until; round++) {
    const run = await work.prepare(world, lanes[0]?.locations ?? [], messages);
    for (const lane of rotated(lanes, round)) {
      const begun = now();
      const before = cpuMicros(lane.pid);
      await work.perform(world, lane, run, messages);
      await sleep(work.settleMs);
      watch(lane, [begun, now()]);
      costs.get(lane.name)?.push((cpuMicros(lane.pid) - before) / messages);
    }
  }
  return Object.fromEntries(costs);
}

/** Lets every contestant see each location once and its code get compiled; nothing is measured. */
export async function warmUp(
  { world }: Arena,
  lanes: readonly Lane[],
  work: Work,
  messages: number,
): Promise<void> {
  const run = await work.prepare(world, lanes[0]?.locations ?? [], messages);
  for (const lane of lanes) await work.perform(world, lane, run, messages);
}

/** Every contestant comes first equally often; odd rounds run backwards, so that nobody always follows the same one. */
function rotated<T>(all: readonly T[], round: number): T[] {
  const start = round % all.length;
  const turned = [...all.slice(start), ...all.slice(0, start)];
  return round % 2 === 0 ? turned : turned.toReversed();
}
