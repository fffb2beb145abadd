// Generates malformed files, texts and frames from a seed and bounds what each parser takes for them:
// npm run fuzz -- --seed 1 --inputs 1000000 [--parser NAME] [--number N]
import { parseArgs } from 'node:util';

import { runOne, runParsers } from './run-parsers.ts';
import type { ParserReport } from './run-parsers.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    inputs: { type: 'string', default: '1000000' },
    parser: { type: 'string', default: '' },
    number: { type: 'string' },
  },
});
const seed = Number(values.seed);
const print = (line: string) => void process.stdout.write(`${line}\n`);

function show({ parser, inputs, slowestMs, mostBytes, faults }: ParserReport): void {
  const cells = [
    parser.process,
    parser.name,
    inputs,
    `${slowestMs.toFixed(1)} ms`,
    `${(mostBytes / 2 ** 20).toFixed(1)} MiB`,
    faults.length,
  ];
  print(`| ${cells.join(' | ')} |`);
  for (const { number, fault } of faults)
    print(`  ${fault}: npm run fuzz -- --seed ${seed} --parser '${parser.name}' --number ${number}`);
}

print('| process | parser | inputs | slowest | most memory | faults |');
print('|---|---|---|---|---|---|');
const started = performance.now();
const reports =
  values.number === undefined
    ? await runParsers({ seed, inputs: Number(values.inputs), only: values.parser }, show)
    : await runOne(seed, values.parser, Number(values.number));
if (values.number !== undefined) for (const report of reports) show(report);
const total = (of: (report: ParserReport) => number) => reports.reduce((sum, report) => sum + of(report), 0);
const faults = total((report) => report.faults.length);
print(
  `${total(({ inputs }) => inputs)} inputs, ${faults} faults, ${Math.round((performance.now() - started) / 1000)} s`,
);
process.exitCode = faults === 0 && reports.length > 0 ? 0 : 1;
