import { arch, cpus, loadavg, platform } from 'node:os';
import process from 'node:process';

import { ratios, spread } from './measure/statistics.ts';
import type { Spread } from './measure/statistics.ts';
import type { measureTwoNodes } from './scenarios/cluster.ts';
import type { Costs } from './scenarios/costs.ts';
import type { Latencies } from './scenarios/latencies.ts';
import type { Memory } from './scenarios/memory.ts';

/** The cost per message of one candidate on one path. */
export interface PathCost {
  readonly micros: Spread;
  /** Per-round ratio to each measured baseline. */
  readonly to: Readonly<Partial<Record<Base, Spread>>>;
}

/** The candidates that serve as baselines for the others. */
export const BASES = ['floor', 'fast floor', 'durable floor'] as const;
type Base = (typeof BASES)[number];

export interface FlatRow {
  readonly name: string;
  readonly micros: Spread;
  /** Per-round ratio to the first row. */
  readonly toFirst: Spread;
  /** Undefined when it was not measured. */
  readonly backgroundPerSecond: number | undefined;
  readonly residentMegabytes: number;
}

export interface Results {
  readonly when: string;
  readonly command: string;
  readonly machine: Readonly<Record<string, string | number | boolean>>;
  readonly costs: Record<string, Record<string, PathCost>>;
  readonly latencies: Record<string, Latencies>;
  readonly flatness: Record<string, FlatRow[]>;
  readonly memory: Record<string, Memory>;
  /** Two nodes on one Redis: the cost if the Mac is connected to the other node. */
  nodes?: Omit<Awaited<ReturnType<typeof measureTwoNodes>>, 'latencies'>;
}

export function emptyResults(pinned: boolean): Results {
  return {
    when: new Date().toISOString(),
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      platform: platform(),
      arch: arch(),
      node: process.versions.node,
      pinned,
      loadBefore: Number(loadavg()[0]?.toFixed(1)),
    },
    costs: {},
    latencies: {},
    flatness: {},
    memory: {},
  };
}

export function pathCosts(costs: Costs): Record<string, PathCost> {
  return Object.fromEntries(
    Object.entries(costs).map(([name, micros]) => {
      const to = BASES.flatMap((base) => {
        const ofBase = costs[base];
        return ofBase === undefined ? [] : [[base, spread(ratios(micros, ofBase))]];
      });
      return [name, { micros: spread(micros), to: Object.fromEntries(to) }];
    }),
  );
}
