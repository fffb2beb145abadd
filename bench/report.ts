import type { Spread } from './measure/statistics.ts';
import { BASES } from './results.ts';
import type { Results } from './results.ts';
import type { Verdict } from './targets.ts';

/** Formats all results of a run as text. */
export function report(results: Results, verdicts: readonly Verdict[]): string {
  const tables = [costs, latencies, flatness, memory, nodes].map((format) => format(results));
  return [...tables, verdictTable(verdicts)].filter((part) => part !== '').join('\n\n');
}

const OTHER_BASES = BASES.slice(1);

function costs({ costs: all }: Results): string {
  const paths = Object.entries(all);
  const others = Object.keys(paths[0]?.[1] ?? {}).filter((name) => name !== 'floor');
  const hasOurs = others.includes('footbridge');
  const header = [
    'CPU per message',
    'floor µs',
    ...others.map((name) => `${name} × floor`),
    ...(hasOurs ? ['ours µs', ...OTHER_BASES.map((base) => `ours × ${base}`)] : []),
    'rounds',
  ];
  const rows = paths.map(([path, { floor, footbridge: ours, ...rest }]) => [
    path,
    floor?.micros.median.toFixed(0) ?? '',
    ...others.map((name) => ratio((name === 'footbridge' ? ours : rest[name])?.to.floor)),
    ...(hasOurs
      ? [ours?.micros.median.toFixed(0) ?? '', ...OTHER_BASES.map((base) => ratio(ours?.to[base]))]
      : []),
    String(floor?.micros.rounds ?? ''),
  ]);
  return table(header, rows);
}

function latencies({ latencies: all }: Results): string {
  const rows = Object.entries(all).flatMap(([when, candidates]) =>
    Object.entries(candidates).flatMap(([name, moments]) =>
      Object.entries(moments).map(([moment, { p50, p99, max, samples }]) => [
        when,
        name,
        moment,
        ...[p50, p99, max].map((ms) => ms.toFixed(1)),
        String(samples),
      ]),
    ),
  );
  return table(['latency, ms', 'candidate', 'until', 'p50', 'p99', 'max', 'samples'], rows);
}

function flatness({ flatness: all }: Results): string {
  const rows = Object.entries(all).flatMap(([what, ofWhat]) =>
    ofWhat.map(({ name, micros, toFirst, backgroundPerSecond, residentMegabytes }) => [
      what,
      name,
      micros.median.toFixed(0),
      ratio(toFirst),
      backgroundPerSecond === undefined ? '' : (backgroundPerSecond / 1000).toFixed(2),
      residentMegabytes.toFixed(0),
    ]),
  );
  return table(['flatness', '', 'µs per message', '× first (quartiles)', 'idle ms/s', 'RSS MB'], rows);
}

function memory({ memory: all }: Results): string {
  const rows = Object.entries(all).map(([name, { messages, slope, samples }]) => [
    name,
    String(messages),
    megabytes(samples[0]?.[1]).toFixed(0),
    megabytes(samples.at(-1)?.[1]).toFixed(0),
    megabytes(slope).toFixed(2),
  ]);
  return table(['memory', 'messages', 'first RSS MB', 'last RSS MB', 'MB per 100,000'], rows);
}

function nodes({ nodes: found }: Results): string {
  if (found === undefined) return '';
  const row = (where: string, micros: Spread, toLocal: string, broker: Spread) => [
    where,
    micros.median.toFixed(0),
    toLocal,
    broker.median.toFixed(0),
  ];
  return table(
    ['two nodes, outbound', 'µs on both', '× local (quartiles)', 'µs in Redis'],
    [
      row('Mac on the node that gets the webhook', found.local, '1.00', found.brokerLocal),
      row('Mac on the other node', found.across, ratio(found.toLocal), found.brokerAcross),
    ],
  );
}

export function verdictTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ target, value, limit, unit, reached }) => [
    target,
    value.toFixed(2),
    `≤ ${limit} ${unit}`,
    reached ? 'met' : 'missed',
  ]);
  return table(['target', 'measured', 'limit', ''], rows);
}

const ratio = (of: Spread | undefined) =>
  of === undefined ? '' : `${of.median.toFixed(2)} (${of.q1.toFixed(2)}–${of.q3.toFixed(2)})`;
const megabytes = (bytes = Number.NaN) => bytes / 1024 / 1024;

/** Returns an aligned table, or nothing if it has no rows. */
function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const [line, ...lines] = all.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  '),
  );
  return [line, widths.map((width) => '─'.repeat(width)).join('──'), ...lines].join('\n');
}
