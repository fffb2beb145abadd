import { setTimeout as sleep } from 'node:timers/promises';

import type { Harness, RunningCandidate } from '../harness.ts';
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

export interface FlatCandidate {
  readonly candidate: RunningCandidate;
  /** The keys that sign, by round, instead of the key of the environment. */
  readonly privateKeys?: readonly string[];
}

/** Sends the same small load to candidates that differ only in the number of connected Macs or trusted keys. */
export async function measureFlatness(
  { environment }: Harness,
  candidates: readonly FlatCandidate[],
  rounds: number,
  activeLocations = 10,
): Promise<Flatness> {
  const count = activeLocations * PER_LOCATION;
  const micros = new Map<string, number[]>(candidates.map(({ candidate }) => [candidate.name, []]));
  const background = new Map<string, number>();
  for (let round = 0; round <= rounds; round++) {
    const windowEnds = Date.now() + WINDOW_MS;
    for (const { candidate, privateKeys } of candidates) {
      const run = await prepareWebhooks(
        environment,
        candidate.locations.slice(0, activeLocations),
        count,
        'signed',
        privateKeys?.[round % privateKeys.length] ?? environment.key.privateKey,
      );
      const before = cpuMicros(candidate.pid);
      const started = Date.now();
      await beginOutbound(environment, candidate, run, count);
      await endOutbound(
        environment,
        candidate,
        count,
        await environment.load.call('closedLoop', candidate.url, CONCURRENCY),
      );
      await sleep(SETTLE_MS);
      const spent = cpuMicros(candidate.pid) - before;
      const idle = ((background.get(candidate.name) ?? 0) * (Date.now() - started)) / 1000;
      // The first round is a warm-up and measures the background load.
      if (round > 0) micros.get(candidate.name)?.push((spent - idle) / count);
    }
    const rest = windowEnds - Date.now();
    if (rest > 0) await measureBackground(candidates, background, rest);
  }
  return {
    micros: Object.fromEntries(micros),
    backgroundPerSecond: Object.fromEntries(background),
    residentBytes: Object.fromEntries(
      candidates.map(({ candidate }) => [candidate.name, residentBytes(candidate.pid)]),
    ),
  };
}

async function measureBackground(
  candidates: readonly FlatCandidate[],
  background: Map<string, number>,
  ms: number,
): Promise<void> {
  const before = candidates.map(({ candidate }) => cpuMicros(candidate.pid));
  await sleep(ms);
  for (const [index, { candidate }] of candidates.entries())
    background.set(candidate.name, (cpuMicros(candidate.pid) - (before[index] ?? 0)) / (ms / 1000));
}
