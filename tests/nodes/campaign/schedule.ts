import { seeded } from '@footbridge/testkit/seeded';
import { FAULT_KINDS, KILL } from './fault-kinds.ts';
import type { FaultKind } from './fault-kinds.ts';

/** One fault of a campaign. It carries its own random choices, so that it is the same fault in a shorter schedule. */
export interface ScheduledFault {
  readonly index: number;
  readonly kind: FaultKind;
  /** From 0 to 1: which of the nodes or locations it affects. */
  readonly target: number;
  /** From 0 to 1: a second choice, such as the direction of a clock step. */
  readonly variant: number;
  readonly durationMs: number;
  /** Until the next fault. */
  readonly pauseMs: number;
}

export interface ScheduleOptions {
  readonly seed: number;
  readonly faults: number;
  /** How many of them are kill -9 of a node. */
  readonly kills: number;
  readonly kinds: readonly FaultKind[];
}

const LONG_SHARE = 0.25;
const PAUSE_MS = [200, 1200] as const;

/** Returns the same faults in the same order for the same options. Kills are spread evenly; all other kinds come equally often. */
export function createSchedule({ seed, faults, kills, kinds }: ScheduleOptions): ScheduledFault[] {
  if (kills > faults) throw new Error(`${kills} kills do not fit into ${faults} faults.`);
  const random = seeded(seed);
  const others = kinds.filter((kind) => kind !== KILL);
  let deck: FaultKind[] = [];
  const isKill = (index: number) =>
    Math.floor(((index + 1) * kills) / faults) > Math.floor((index * kills) / faults);
  return Array.from({ length: faults }, (_, index) => {
    if (deck.length === 0) deck = shuffled(others, random);
    const kind = isKill(index) ? KILL : (deck.pop() ?? KILL);
    const target = random();
    const variant = random();
    const durationMs = durationOf(kind, random);
    return { index, kind, target, variant, durationMs, pauseMs: between(PAUSE_MS, random()) };
  });
}

/** Returns the part of the list that belongs to one of several rounds, of sizes that differ by one at most. */
export function shareOf<T>(list: readonly T[], round: number, rounds: number): T[] {
  return list.slice(
    Math.floor((round * list.length) / rounds),
    Math.floor(((round + 1) * list.length) / rounds),
  );
}

function durationOf(kind: FaultKind, random: () => number): number {
  const traits = FAULT_KINDS[kind];
  const isLong = random() < LONG_SHARE;
  return between('longMs' in traits && isLong ? traits.longMs : traits.ms, random());
}

const between = ([least, most]: readonly [number, number], share: number) =>
  Math.round(least + share * (most - least));

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((value) => ({ value, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ value }) => value);
}
