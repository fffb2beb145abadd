import { parseArgs } from 'node:util';

import { allMacs, casesOf, runCases, sum } from '../../packages/agent/test/reaction-matrix.ts';
import type { MatrixResult } from '../../packages/agent/test/reaction-matrix.ts';

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

const results: MatrixResult[] = [];
for (const [index, { macos, language }] of allMacs().entries()) {
  if (values.macos !== undefined && Number(values.macos) !== macos) continue;
  const cases = casesOf(macos, language).filter((_, place) => (place + index) % each === 0);
  const result = await runCases(cases, seed + index);
  results.push(result);
  process.stdout.write(`macOS ${macos}, ${language}: ${line(result)}\n`);
}
const { examples, ...total } = sum(results);
process.stdout.write(`all: ${line({ ...total, examples })}\n`);
for (const example of examples) process.stdout.write(`${example}\n`);
process.exitCode = total.strays + total.needless + total.doubled + total.wrong > 0 ? 1 : 0;

function line({ cases, presses, strays, needless, doubled, wrong, durations }: MatrixResult): string {
  const p95 = durations[Math.floor(durations.length * 0.95)] ?? 0;
  return `${cases} cases, ${presses} presses, ${strays} strays, ${needless} needless, ${doubled} doubled, ${wrong} wrong, p95 ${(p95 / 1000).toFixed(1)} s on the simulated clock`;
}
