import { readFileSync, writeFileSync } from 'node:fs';

import { openArena } from './arena.ts';
import { footbridge } from './contestants/footbridge.ts';
import { floor } from './contestants/plain.ts';
import { findPinning } from './measure/pinning.ts';
import { pathCosts } from './results.ts';
import type { Results } from './results.ts';
import { measureCosts, warmUp } from './scenarios/costs.ts';
import { inbound, outbound } from './scenarios/work.ts';

/** What a message costs Footbridge in units of the floor, by path. Ratios only: times belong to a machine. */
export type Ratios = Readonly<Record<string, number>>;

const file = new URL('recorded.json', import.meta.url);
/** A shared CI machine disturbs short runs by a third; a real regression of the hot path is larger than that. */
const TOLERANCE = 1.5;

export function recordRatios(results: Results): void {
  const toFloor = Object.fromEntries(
    Object.entries(results.costs).map(([path, costs]) => [
      path,
      rounded(costs['footbridge']?.toFloor.median),
    ]),
  );
  writeFileSync(file, `${JSON.stringify({ when: results.when, toFloor }, null, 2)}\n`);
}

const rounded = (ratio = Number.NaN) => Number(ratio.toFixed(3));

export function readRecorded(): Ratios {
  const { toFloor } = JSON.parse(readFileSync(file, 'utf8')) as { toFloor: Ratios };
  return toFloor;
}

/** A short interleaved run of Footbridge against the floor. */
export async function measureNow(): Promise<Ratios> {
  const arena = await openArena({ pinning: findPinning() });
  try {
    const lanes = [await arena.enter(floor(), 100), await arena.enter(footbridge(), 100)];
    const now: Record<string, number> = {};
    for (const [path, work] of Object.entries({ outbound, inbound })) {
      await warmUp(arena, lanes, work, 1000);
      const costs = await measureCosts(arena, lanes, work, { rounds: 7, messages: 300 });
      now[path] = rounded(pathCosts(costs)['footbridge']?.toFloor.median);
    }
    return now;
  } finally {
    await arena.stop();
  }
}

/** A line for every path that became dearer than the record allows. */
export function regressions(now: Ratios, recorded: Ratios): string[] {
  return Object.entries(now).flatMap(([path, ratio]) => {
    const limit = (recorded[path] ?? 0) * TOLERANCE;
    return ratio <= limit
      ? []
      : [`${path} costs ${ratio.toFixed(2)} × floor; the record allows ${limit.toFixed(2)}`];
  });
}
