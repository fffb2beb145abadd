import { MOMENTS } from './scenarios/latencies.ts';
import type { Results } from './results.ts';

export interface Verdict {
  readonly target: string;
  readonly value: number;
  readonly limit: number;
  readonly unit: string;
  readonly reached: boolean;
}

export const STEADY_LOAD = '200 out + 200 in per second';
export const HALF_LOAD = 'half of saturation';
/** Response times of the CRM in the runs with a slow CRM, before jitter. */
export const CRM_LATENCIES_MS = [20, 50, 200] as const;
export const slowCrmLoad = (latencyMs: number) => `800 per second, the CRM takes ${latencyMs} ms`;

const countOf = (name: string) => Number.parseInt(name, 10);
const MEGABYTE = 1024 * 1024;

/** Compares every target that this run measured with its limit. */
export function judge(results: Results): Verdict[] {
  const verdicts: Verdict[] = [];
  const atMost = (target: string, value: number | undefined, limit: number, unit: string) => {
    if (value !== undefined) verdicts.push({ target, value, limit, unit, reached: value <= limit });
  };
  const ours = (path: string) => results.costs[path]?.['footbridge'];

  const isArm = results.machine['arch'] === 'arm64';
  atMost('outbound CPU', ours('outbound')?.to.floor?.median, isArm ? 0.9 : 0.8, '× floor');
  atMost('outbound CPU', ours('outbound')?.to['fast floor']?.median, 1.35, '× fast floor');
  atMost('inbound CPU', ours('inbound')?.to['durable floor']?.median, 1.15, '× durable floor');
  atMost('inbound CPU', ours('inbound')?.to.floor?.median, 1.5, '× floor');
  atMost('401 decided by form', ours('401 by form')?.to.floor?.median, 1.4, '× floor');

  const half = results.latencies[HALF_LOAD]?.['footbridge'];
  atMost('webhook p99 at half of saturation', half?.webhook?.p99, isArm ? 15 : 5, 'ms');
  const steady = results.latencies[STEADY_LOAD];
  for (const moment of MOMENTS) {
    const floor = steady?.['floor']?.[moment]?.p99;
    const value = steady?.['footbridge']?.[moment]?.p99;
    if (floor !== undefined && value !== undefined)
      atMost(`${moment} p99 at 200 + 200 per second`, value / floor, 1.5, '× floor');
  }
  for (const latencyMs of CRM_LATENCIES_MS) {
    const slow = results.latencies[slowCrmLoad(latencyMs)];
    const floor = slow?.['floor']?.delivered?.p99;
    const value = slow?.['footbridge']?.delivered?.p99;
    if (floor !== undefined && value !== undefined)
      atMost(`delivered p99 with a CRM latency of ${latencyMs} ms`, value / floor, 1.5, '× floor');
  }

  atMost('CPU over two nodes when a message crosses Redis', results.nodes?.toLocal.median, 1.3, '× local');
  for (const [what, rows] of Object.entries(results.flatness))
    for (const row of rows.slice(1))
      atMost(`${what}: ${row.name} against ${rows[0]?.name}`, row.toFirst.median, 1.1, '×');
  const [few, ...more] = results.flatness['connected Macs'] ?? [];
  const many = more.at(-1);
  if (few !== undefined && many !== undefined) {
    const perMac =
      (many.residentMegabytes - few.residentMegabytes) / (countOf(many.name) - countOf(few.name));
    atMost('memory per Mac', perMac * 1024, 9, 'KiB');
    atMost(`idle CPU with ${many.name}`, (many.backgroundPerSecond ?? Number.NaN) / 10_000, 3, '% of a core');
  }
  const memory = results.memory['footbridge'];
  if (memory !== undefined)
    atMost(`memory over ${memory.messages} messages`, memory.slope / MEGABYTE, 1, 'MB per 100,000');
  return verdicts;
}
