import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { floor, footbridge } from './candidates.ts';
import { withHarness } from './harness.ts';
import { pathCosts } from './results.ts';
import type { Results } from './results.ts';
import { measureCosts, warmUp } from './scenarios/costs.ts';
import { inbound, outbound } from './scenarios/work.ts';

/** The cost of a message in Footbridge relative to the floor, by path. Absolute times depend on the machine. */
export type Ratios = Readonly<Record<string, number>>;

/** One record per architecture: the relative cost of cryptography differs, and the floor uses another library for it. */
const recordOf = (arch: string) => new URL(`recorded/${arch}.json`, import.meta.url);
/** A shared CI machine disturbs short runs by a third; a real regression of the hot path is larger than that. */
const TOLERANCE = 1.5;

export function recordRatios({ when, command, machine, costs }: Results): void {
  const toFloor = Object.fromEntries(
    Object.entries(costs).map(([path, of]) => [path, rounded(of['footbridge']?.to.floor?.median)]),
  );
  const place = `${machine['cores']} × ${machine['cpu']}, load average ${machine['loadBefore']} before`;
  const record = { when, command, machine: place, toFloor };
  writeFileSync(recordOf(String(machine['arch'])), `${JSON.stringify(record, null, 2)}\n`);
}

const rounded = (ratio = Number.NaN) => Number(ratio.toFixed(3));

/** Returns the ratios recorded on this architecture, or undefined if there is no record. */
export function readRecorded(arch: string): Ratios | undefined {
  if (!existsSync(recordOf(arch))) return undefined;
  const { toFloor } = JSON.parse(readFileSync(recordOf(arch), 'utf8')) as { toFloor: Ratios };
  return toFloor;
}

/** Compares a short run with the record and prints both. Returns the exit code: 1 for a regression, 2 without a record. */
export async function guard(arch: string): Promise<0 | 1 | 2> {
  const recorded = readRecorded(arch);
  if (recorded === undefined) {
    console.error(
      `guard: there is no record for ${arch}; on a quiet machine run npm run bench -- --only outbound,inbound,rejections --record`,
    );
    return 2;
  }
  const now = await measureNow();
  for (const [path, ratio] of Object.entries(now))
    console.log(`${path}: ${ratio.toFixed(2)} × floor, recorded ${recorded[path]?.toFixed(2) ?? 'never'}`);
  const found = regressions(now, recorded);
  for (const line of found) console.error(`guard: ${line}`);
  return found.length === 0 ? 0 : 1;
}

/** A short interleaved run of Footbridge against the floor. */
const measureNow = (): Promise<Ratios> =>
  withHarness({}, async (harness) => {
    const candidates = [await harness.start(floor(), 100), await harness.start(footbridge(), 100)];
    const now: Record<string, number> = {};
    for (const [path, work] of Object.entries({ outbound, inbound })) {
      await warmUp(harness, candidates, work, 1000);
      const costs = await measureCosts(harness, candidates, work, { rounds: 7, messages: 300 });
      now[path] = rounded(pathCosts(costs)['footbridge']?.to.floor?.median);
    }
    return now;
  });

/** Returns a line for every path that costs more than the record allows. */
export function regressions(now: Ratios, recorded: Ratios): string[] {
  return Object.entries(now).flatMap(([path, ratio]) => {
    const limit = (recorded[path] ?? 0) * TOLERANCE;
    return ratio <= limit
      ? []
      : [`${path} costs ${ratio.toFixed(2)} × floor; the record allows ${limit.toFixed(2)}`];
  });
}
