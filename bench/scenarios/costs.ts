import { setTimeout as sleep } from 'node:timers/promises';

import type { Harness, RunningCandidate } from '../harness.ts';
import { cpuMicros } from '../measure/process-costs.ts';
import { now } from '../environment/messages.ts';
import type { Work } from './work.ts';

/** Microseconds of CPU per message and round. */
export type Costs = Readonly<Record<string, readonly number[]>>;

/** An interval on the shared clock, in milliseconds. */
export type Interval = readonly [from: number, to: number];

/** Called with the interval in which a candidate was measured. */
export type Watch = (candidate: RunningCandidate, interval: Interval) => void;

export interface Rounds {
  readonly rounds: number;
  /** Messages per candidate and round. */
  readonly messages: number;
  /** No round starts after this time, even if fewer than `rounds` have run. */
  readonly until?: number;
}

/**
 * Runs all candidates in every round, in a different order each time, so that other load on the machine affects them
 * equally. Only ratios within a round are compared.
 */
export async function measureCosts(
  { environment }: Harness,
  candidates: readonly RunningCandidate[],
  work: Work,
  { rounds, messages, until = Infinity }: Rounds,
  watch: Watch = () => undefined,
): Promise<Costs> {
  const costs = new Map<string, number[]>(candidates.map((candidate) => [candidate.name, []]));
  for (let round = 0; round < rounds && Date.now() < until; round++) {
    const run = await work.prepare(environment, candidates[0]?.locations ?? [], messages);
    for (const candidate of rotated(candidates, round)) {
      const started = now();
      const before = cpuMicros(candidate.pid);
      await work.perform(environment, candidate, run, messages);
      await sleep(work.settleMs);
      watch(candidate, [started, now()]);
      costs.get(candidate.name)?.push((cpuMicros(candidate.pid) - before) / messages);
    }
  }
  return Object.fromEntries(costs);
}

/** Warms up caches and compiled code with every location, without measuring. */
export async function warmUp(
  { environment }: Harness,
  candidates: readonly RunningCandidate[],
  work: Work,
  messages: number,
): Promise<void> {
  const run = await work.prepare(environment, candidates[0]?.locations ?? [], messages);
  for (const candidate of candidates) await work.perform(environment, candidate, run, messages);
}

/** In twice as many rounds as candidates, each one has each position twice. Odd rounds are reversed, so that the neighbours change too. */
export function rotated<T>(all: readonly T[], round: number): T[] {
  const start = Math.floor(round / 2) % all.length;
  const [order, first] = round % 2 === 0 ? [all, start] : [all.toReversed(), all.length - 1 - start];
  return [...order.slice(first), ...order.slice(0, first)];
}
