import { openHarness } from '../harness.ts';
import type { Harness, RunningCandidate } from '../harness.ts';
import type { Candidate } from '../candidates/candidate.ts';
import { findPinning } from '../measure/pinning.ts';
import { ratios, spread } from '../measure/statistics.ts';
import { measureCosts, warmUp } from './costs.ts';
import type { Rounds } from './costs.ts';
import { inbound, outbound } from './work.ts';

/** Measures the candidates in alternating rounds, and prints the cost of each per message, relative to the first one. */
export async function compareCosts(
  candidates: readonly Candidate[],
  macs: number,
  rounds: Rounds,
): Promise<void> {
  const pinning = findPinning();
  if (pinning.note !== undefined) console.log(`note: ${pinning.note}`);
  const harness = await openHarness({ pinning });
  try {
    const running = [];
    for (const candidate of candidates) running.push(await harness.start(candidate, macs));
    await printCosts(harness, running, rounds);
  } finally {
    await harness.close();
  }
}

/** Prints the cost per message of candidates that are running, relative to the first one. */
export async function printCosts(
  harness: Harness,
  running: readonly RunningCandidate[],
  rounds: Rounds,
): Promise<void> {
  for (const [path, work] of Object.entries({ outbound, inbound })) {
    await warmUp(harness, running, work, 10 * rounds.messages);
    const costs = await measureCosts(harness, running, work, rounds);
    const baseline = costs[running[0]?.name ?? ''] ?? [];
    for (const { name } of running) {
      const micros = spread(costs[name] ?? []).median.toFixed(0);
      const { median, q1, q3 } = spread(ratios(costs[name] ?? [], baseline));
      console.log(
        `${path.padEnd(9)} ${name.padEnd(28)} ${micros} µs, ${median.toFixed(3)} × (${q1.toFixed(3)}–${q3.toFixed(3)})`,
      );
    }
  }
}
