import type { Spread } from './measure/statistics.ts';
import type { Results } from './results.ts';
import type { Verdict } from './targets.ts';

/** Formats all results of a run as text. */
export function report(results: Results, verdicts: readonly Verdict[]): string {
  return [
    costTable(results),
    latencyTable(results),
    flatnessTable(results),
    memoryTable(results),
    nodesTable(results),
    verdictTable(verdicts),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

const OTHER_BASES = ['fast floor', 'durable floor', 'reference'] as const;

function costTable({ costs }: Results): string {
  const paths = Object.entries(costs);
  if (paths.length === 0) return '';
  const others = Object.keys(paths[0]?.[1] ?? {}).filter((name) => name !== 'floor');
  const rows = paths.map(([path, all]) => {
    const ours = all['footbridge'];
    return [
      path,
      all['floor']?.micros.median.toFixed(0) ?? '',
      ...others.map((name) => ratio(all[name]?.to.floor)),
      ...(ours === undefined
        ? []
        : [ours.micros.median.toFixed(0), ...OTHER_BASES.map((base) => ratio(ours.to[base]))]),
      String(all['floor']?.micros.rounds ?? ''),
    ];
  });
  const ours = others.includes('footbridge')
    ? ['ours µs', ...OTHER_BASES.map((base) => `ours × ${base}`)]
    : [];
  return table(
    ['CPU per message', 'floor µs', ...others.map((name) => `${name} × floor`), ...ours, 'rounds'],
    rows,
  );
}

function latencyTable({ latencies }: Results): string {
  const rows = Object.entries(latencies).flatMap(([when, all]) =>
    Object.entries(all).flatMap(([name, moments]) =>
      Object.entries(moments).map(([moment, tail]) => [
        when,
        name,
        moment,
        tail.p50.toFixed(1),
        tail.p99.toFixed(1),
        tail.max.toFixed(1),
        String(tail.samples),
      ]),
    ),
  );
  return rows.length === 0
    ? ''
    : table(['latency, ms', 'candidate', 'until', 'p50', 'p99', 'max', 'samples'], rows);
}

function flatnessTable({ flatness }: Results): string {
  const rows = Object.entries(flatness).flatMap(([what, all]) =>
    all.map((row) => [
      what,
      row.name,
      row.micros.median.toFixed(0),
      ratio(row.toFirst),
      row.backgroundPerSecond === undefined ? '' : (row.backgroundPerSecond / 1000).toFixed(2),
      row.residentMegabytes.toFixed(0),
    ]),
  );
  return rows.length === 0
    ? ''
    : table(['flatness', '', 'µs per message', '× first (quartiles)', 'idle ms/s', 'RSS MB'], rows);
}

function memoryTable({ memory }: Results): string {
  const rows = Object.entries(memory).map(([name, { messages, slope, samples }]) => [
    name,
    String(messages),
    megabytes(samples[0]?.[1]),
    megabytes(samples.at(-1)?.[1]),
    (slope / 1024 / 1024).toFixed(2),
  ]);
  return rows.length === 0
    ? ''
    : table(['memory', 'messages', 'first RSS MB', 'last RSS MB', 'MB per 100,000'], rows);
}

function nodesTable({ nodes }: Results): string {
  if (nodes === undefined) return '';
  const rows = [
    [
      'Mac on the node that gets the webhook',
      nodes.local.median.toFixed(0),
      '1.00',
      nodes.brokerLocal.median.toFixed(0),
    ],
    [
      'Mac on the other node',
      nodes.across.median.toFixed(0),
      ratio(nodes.toLocal),
      nodes.brokerAcross.median.toFixed(0),
    ],
  ];
  return table(['two nodes, outbound', 'µs on both', '× local (quartiles)', 'µs in Redis'], rows);
}

export function verdictTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ target, value, limit, unit, reached }) => [
    target,
    value.toFixed(2),
    `≤ ${limit} ${unit}`,
    reached ? 'met' : 'missed',
  ]);
  return rows.length === 0 ? '' : table(['target', 'measured', 'limit', ''], rows);
}

const ratio = (of: Spread | undefined) =>
  of === undefined ? '' : `${of.median.toFixed(2)} (${of.q1.toFixed(2)}–${of.q3.toFixed(2)})`;
const megabytes = (bytes = Number.NaN) => (bytes / 1024 / 1024).toFixed(0);

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  const rule = widths.map((width) => '─'.repeat(width)).join('──');
  return [line(header), rule, ...rows.map(line)].join('\n');
}
