// `npm test`: the checks, the tests (the projects of vitest.config.ts) and the contract's table.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';

import { BUNDLES } from '@footbridge/testkit/bundles';

import { check } from './check.ts';
import { forgetRuns, printContract, reportOf } from './contract.ts';
import { prepareOtherNode, withNodeFirst } from './other-node.ts';
import { writeBundles } from './write-bundles.ts';

const ROOT = join(import.meta.dirname, '..');

const HELP = `npm test -- [options] [FILE or FOLDER …]

  --quick          checks and unit tests
  --changed [REF]  the tests that import a file that is not committed, or that differs from REF
  --coverage       a table of what the tests cover in their own process, and its pages in artefacts/coverage
  --node N         on another Node, for example 22 or 22.19.0, with production dependencies only
  --help           this text

With files, folders or --changed, only these tests run, without the checks.
`;

/** The arguments of vitest, and whether the run is recorded for the contract's table. */
interface Plan {
  readonly kind?: 'full' | 'quick';
  readonly args: readonly string[];
  readonly node?: string | undefined;
}

/** Returns what to run, or the problem with the arguments. */
export function planOf(argv: string[]): Plan | 'help' | { readonly problem: string } {
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        changed: { type: 'boolean', default: false },
        coverage: { type: 'boolean', default: false },
        node: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    const { quick, changed, coverage, node, help } = values;
    if (help) return 'help';
    if (node !== undefined && !/^\d+(\.\d+){0,2}$/.test(node))
      return { problem: `--node takes a version such as 22 or 22.19.0, not ${node}` };
    if ([quick, changed, coverage, positionals.length > 0 && !changed].filter(Boolean).length > 1)
      return { problem: 'only one of --quick, --changed, --coverage and files can be given' };
    if (positionals.length > 1 && changed) return { problem: '--changed takes one branch or commit' };
    if (changed) return { args: [`--changed${positionals.map((ref) => `=${ref}`).join('')}`], node };
    if (positionals.length > 0) return { args: positionals, node };
    if (coverage) return { args: ['--project=unit', '--project=programs', '--coverage'], node };
    return quick ? { kind: 'quick', args: ['--project=unit'], node } : { kind: 'full', args: [], node };
  } catch (error) {
    // The rest of parseArgs' message is about positional arguments that begin with a dash.
    return { problem: String(error instanceof Error ? error.message : error).split('. ')[0] ?? '' };
  }
}

async function run({ kind, args, node: version }: Plan): Promise<boolean> {
  const other = version === undefined ? undefined : prepareOtherNode(ROOT, version);
  if (other !== undefined && 'problem' in other) return problem(other.problem);
  const { root, node } = other ?? { root: ROOT, node: process.execPath };
  if (kind !== undefined) forgetRuns(ROOT);
  // They do not depend on the Node, and need the development dependencies.
  const isChecked = kind === undefined || other !== undefined || (await check());
  const json = kind === undefined ? [] : ['--reporter=json', `--outputFile.json=${reportOf(ROOT, kind)}`];
  const bundles = join(root, '.cache/bundles');
  if (kind !== undefined && other === undefined) await writeBundles(bundles);
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const child = spawn(node, [vitest, 'run', ...args, '--reporter=default', ...json], {
    cwd: root,
    stdio: 'inherit',
    env: { ...withNodeFirst(node), ...(kind !== undefined && other === undefined && { [BUNDLES]: bundles }) },
  });
  process.once('SIGTERM', () => child.kill('SIGTERM'));
  const [code] = (await once(child, 'exit')) as [number | null];
  const isKept = kind === undefined || printContract(ROOT);
  if (!isChecked) console.log('Failed: the checks');
  return isChecked && code === 0 && isKept;
}

function problem(message: string): false {
  console.error(message);
  return false;
}

if (import.meta.main) {
  const plan = planOf(process.argv.slice(2));
  if (plan === 'help') console.log(HELP);
  else if ('problem' in plan) process.exitCode = problem(`${plan.problem}\n\n${HELP}`) ? 0 : 2;
  else process.exitCode = (await run(plan)) ? 0 : 1;
}
