import type { Harness, RunningCandidate } from '../harness.ts';
import { residentBytes } from '../measure/process-costs.ts';
import { slope } from '../measure/statistics.ts';
import { inbound, outbound } from './work.ts';

export interface Memory {
  readonly messages: number;
  /** [messages so far, resident bytes] */
  readonly samples: readonly (readonly [number, number])[];
  /** Bytes per 100,000 messages, after the first fifth. */
  readonly slope: number;
}

const STEP = 5_000;

/** Sends half of the messages outbound and half inbound, at full speed. */
export async function measureMemory(
  { environment }: Harness,
  candidate: RunningCandidate,
  messages: number,
): Promise<Memory> {
  const samples: (readonly [number, number])[] = [];
  for (let done = 0; done < messages; done += 2 * STEP) {
    for (const work of [outbound, inbound]) {
      const run = await work.prepare(environment, candidate.locations, STEP);
      await work.perform(environment, candidate, run, STEP);
    }
    samples.push([done + 2 * STEP, residentBytes(candidate.pid)]);
  }
  const warm = samples.slice(Math.floor(samples.length / 5));
  return { messages, samples, slope: slope(groupMinima(warm)) * 100_000 };
}

/** Uncollected garbage is not growth, so only the smallest sample of each group is used. */
function groupMinima(samples: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  const width = Math.max(1, Math.floor(samples.length / 10));
  const groups = Array.from({ length: Math.floor(samples.length / width) }, (_, group) =>
    samples.slice(group * width, (group + 1) * width),
  );
  return groups.map((group) => group.reduce((least, next) => (next[1] < least[1] ? next : least)));
}
