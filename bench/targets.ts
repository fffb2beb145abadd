import type { Results } from './results.ts';

export interface Verdict {
  readonly target: string;
  readonly value: number;
  readonly limit: number;
  readonly unit: string;
  readonly reached: boolean;
}

const MEGABYTE = 1024 * 1024;

/** Compares every target that this run measured with its limit. */
export function judge(results: Results): Verdict[] {
  const verdicts: Verdict[] = [];
  const atMost = (target: string, value: number | undefined, limit: number, unit: string) => {
    if (value !== undefined) verdicts.push({ target, value, limit, unit, reached: value <= limit });
  };
  const ours = (path: string) => results.costs[path]?.['footbridge'];

  atMost('outbound CPU', ours('outbound')?.toFloor.median, 0.85, '× floor');
  atMost('outbound CPU', ours('outbound')?.toReference?.median, 0.2, '× reference');
  atMost('inbound CPU', ours('inbound')?.toFloor.median, 1.25, '× floor');
  atMost('inbound CPU', ours('inbound')?.toReference?.median, 0.25, '× reference');
  atMost('401 decided by form', ours('401 by form')?.micros.median, 30, 'µs');

  const half = results.latencies['half of saturation']?.['footbridge'];
  atMost('webhook p99 at half of saturation', half?.webhook?.p99, 15, 'ms');
  const steady = results.latencies['200 out + 200 in per second'];
  for (const moment of ['webhook', 'delivered', 'inbound'] as const) {
    const floor = steady?.['floor']?.[moment]?.p99;
    const value = steady?.['footbridge']?.[moment]?.p99;
    if (floor !== undefined && value !== undefined)
      atMost(`${moment} p99 at 200 + 200 per second`, value / floor, 1.5, '× floor');
  }
  const slow = results.latencies['800 per second, CRM responds in 50 ms']?.['footbridge'];
  atMost('delivered p99 with a CRM of 50 ms', slow?.delivered?.p99, 150, 'ms');

  atMost('CPU over two nodes when a message crosses Redis', results.nodes?.toLocal.median, 1.35, '× local');
  for (const [what, rows] of Object.entries(results.flatness))
    for (const row of rows.slice(1))
      atMost(`${what}: ${row.name} against ${rows[0]?.name}`, row.toFirst.median, 1.1, '×');
  for (const [name, memory] of Object.entries(results.memory))
    if (name === 'footbridge')
      atMost(`memory over ${memory.messages} messages`, memory.slope / MEGABYTE, 1, 'MB per 100,000');
  return verdicts;
}
