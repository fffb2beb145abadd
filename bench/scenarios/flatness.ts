import { setTimeout as sleep } from 'node:timers/promises';

import type { BenchEnvironment } from '../environment/environment.ts';
import type { Harness, RunningCandidate } from '../harness.ts';
import { cpuMicros } from '../measure/process-costs.ts';
import { beginOutbound, CONCURRENCY, endOutbound, prepareWebhooks } from './work.ts';

export interface Flatness {
  /** Microseconds of CPU per outbound message and round, without the background load. */
  readonly micros: Readonly<Record<string, readonly number[]>>;
  /** Microseconds of CPU per second without messages: heartbeats, timers. */
  readonly backgroundPerSecond: Readonly<Record<string, number>>;
}

export interface FlatCandidate {
  readonly candidate: RunningCandidate;
  /** The keys that sign, by round, instead of the key of the environment. */
  readonly keys?: readonly BenchEnvironment['key'][];
}

/** A location may make 90 calls in ten seconds, two per message. Bursts stay below this limit. */
const PER_LOCATION = 40;
const ACTIVE_LOCATIONS = 10;
const COUNT = ACTIVE_LOCATIONS * PER_LOCATION;
const WINDOW_MS = 10_500;
const SETTLE_MS = 500;

/** Sends the same small load to candidates that differ only in the number of connected Macs or trusted keys. */
export async function measureFlatness(
  { environment }: Harness,
  candidates: readonly FlatCandidate[],
  rounds: number,
): Promise<Flatness> {
  const micros = new Map<string, number[]>(candidates.map(({ candidate }) => [candidate.name, []]));
  const background = new Map<string, number>();
  for (let round = 0; round <= rounds; round++) {
    const windowEnds = Date.now() + WINDOW_MS;
    for (const { candidate, keys } of candidates) {
      const locations = candidate.locations.slice(0, ACTIVE_LOCATIONS);
      const key = keys?.[round % keys.length] ?? environment.key;
      const run = await prepareWebhooks(environment, locations, COUNT, { key });
      const before = cpuMicros(candidate.pid);
      const started = Date.now();
      await beginOutbound(environment, candidate, run, COUNT);
      const sent = await environment.load.call('closedLoop', candidate.url, CONCURRENCY);
      await endOutbound(environment, candidate, COUNT, sent);
      await sleep(SETTLE_MS);
      const spent = cpuMicros(candidate.pid) - before;
      const idle = ((background.get(candidate.name) ?? 0) * (Date.now() - started)) / 1000;
      // The first round is a warm-up and measures the background load.
      if (round > 0) micros.get(candidate.name)?.push((spent - idle) / COUNT);
    }
    const rest = windowEnds - Date.now();
    if (rest <= 0) continue;
    const before = candidates.map(({ candidate }) => cpuMicros(candidate.pid));
    await sleep(rest);
    for (const [index, { candidate }] of candidates.entries())
      background.set(candidate.name, (cpuMicros(candidate.pid) - (before[index] ?? 0)) / (rest / 1000));
  }
  return { micros: Object.fromEntries(micros), backgroundPerSecond: Object.fromEntries(background) };
}
