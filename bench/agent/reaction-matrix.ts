import { parseArgs } from 'node:util';

import type { MacosVersion } from '@footbridge/simulator/chat-db';

import { allMacs, casesOf, runCases, sum } from '../../tests/agent/reaction-matrix.ts';
import type { MatrixResult } from '../../tests/agent/reaction-matrix.ts';

/**
 * Reacts to every kind of message with every Tapback, on every simulated macOS version and in every language: --each N takes every
 * Nth case, --macos N one version, --seed N varies how fast Messages follows links. The programs run as they are, without `osascript`.
 */
const { values } = parseArgs({
  options: {
    each: { type: 'string', default: '1' },
    macos: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
});
const [each, seed] = [Number(values.each), Number(values.seed)];
const MAX_P95_MS = 2_000;

const byVersion = new Map<MacosVersion, MatrixResult[]>();
for (const [index, { macos, language }] of allMacs().entries()) {
  if (values.macos !== undefined && Number(values.macos) !== macos) continue;
  const cases = casesOf(macos, language).filter((_, place) => (place + index) % each === 0);
  const result = await runCases(cases, seed + index);
  byVersion.set(macos, [...(byVersion.get(macos) ?? []), result]);
  process.stdout.write(`macOS ${macos}, ${language}: ${line(result)}\n`);
}
const versions = [...byVersion].map(([macos, results]) => ({ macos, result: sum(results) }));
for (const { macos, result } of versions) process.stdout.write(`macOS ${macos}: ${line(result)}\n`);
const total = sum(versions.map(({ result }) => result));
process.stdout.write(`all: ${line(total)}\n`);
for (const example of total.examples) process.stdout.write(`${example}\n`);
const isClean = total.strays + total.needless + total.doubled + total.wrong === 0;
const isFast = versions.every(({ result }) => p95Of(result) <= MAX_P95_MS);
process.exitCode = isClean && isFast ? 0 : 1;

function p95Of({ durations }: MatrixResult): number {
  return durations[Math.floor(durations.length * 0.95)] ?? 0;
}

function line(result: MatrixResult): string {
  const { cases, presses, strays, needless, doubled, wrong } = result;
  return `${cases} cases, ${presses} presses, ${strays} strays, ${needless} needless, ${doubled} doubled, ${wrong} wrong, p95 ${(p95Of(result) / 1000).toFixed(1)} s on the simulated clock`;
}
