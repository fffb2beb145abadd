// `npm test`: the checks, the tests and the contract's table. `npm test -- --help` lists its options.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import process from 'node:process';

import { check } from './check.ts';
import { closingLines } from './closing-lines.ts';
import type { StageResult } from './closing-lines.ts';
import { printContract } from './contract.ts';
import { FAILURES_FILE } from './failure-times.ts';
import {
  failuresPath,
  readFailures,
  readReport,
  recordRun,
  removeReports,
  reportPath,
  writeReport,
} from './last-run.ts';
import { failedInPause, passedAgain, pauseLines, watchForPauses, withRepeated } from './machine-pauses.ts';
import type { Pause } from './machine-pauses.ts';
import { prepareOtherNode, withNodeFirst } from './other-node.ts';
import { readTestOptions, TEST_HELP } from './test-options.ts';
import type { TestOptions } from './test-options.ts';
import { planStages } from './test-plan.ts';
import type { Stage } from './test-plan.ts';

const ROOT = join(import.meta.dirname, '..');
const CACHE = join(ROOT, '.cache');

/** Where the tests run, and on which Node. */
interface Place {
  readonly root: string;
  readonly node: string;
  readonly version: string;
}

const HERE: Place = { root: ROOT, node: process.execPath, version: process.versions.node };

interface StageRun {
  readonly passed: boolean;
  readonly pauses: readonly Pause[];
  /** The files that ran again because the machine paused. */
  readonly repeated: readonly string[];
}

/** Runs the tests of a stage, and once more the files that failed while the machine was paused. */
async function runStage(place: Place, one: Stage): Promise<StageRun> {
  const stopWatch = watchForPauses();
  const passed = await vitest(place, one);
  const pauses = stopWatch();
  const first = readReport(CACHE, one.name);
  const repeated = passed ? [] : failedInPause(readFailures(CACHE, one.name), pauses);
  if (first === undefined || repeated.length === 0) return { passed, pauses, repeated: [] };
  for (const file of repeated)
    console.log(`Failed while the machine was paused, running again: ${relative(place.root, file)}`);
  const flags = one.args.filter((arg) => arg.startsWith('--'));
  const name = `${one.name}-again`;
  removeReports(CACHE, [name]);
  const isOk = await vitest(place, { name, args: [...flags, ...repeated] });
  const again = readReport(CACHE, name);
  if (again === undefined) return { passed: false, pauses, repeated };
  const whole = withRepeated(first, again);
  writeReport(CACHE, one.name, whole);
  const isComplete = passedAgain(first, again, repeated);
  const isFailed = whole.testResults.some(({ status }) => status === 'failed');
  return { passed: isOk && isComplete && !isFailed, pauses, repeated };
}

function vitest(place: Place, { name, args }: Stage): Promise<boolean> {
  const reporters = [
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${reportPath(CACHE, name)}`,
    `--reporter=${join(ROOT, 'scripts/failure-times.ts')}`,
  ];
  const program = join(ROOT, 'node_modules/vitest/vitest.mjs');
  return succeeds(place, [program, 'run', ...args, ...reporters], {
    [FAILURES_FILE]: failuresPath(CACHE, name),
  });
}

async function succeeds(
  { root, node }: Place,
  args: string[],
  env: Record<string, string>,
): Promise<boolean> {
  const child = spawn(node, args, { cwd: root, stdio: 'inherit', env: { ...withNodeFirst(node), ...env } });
  // Without an exit here, the next stage would start.
  const stop = () => {
    child.kill('SIGTERM');
    child.once('exit', () => process.exit(143));
  };
  process.once('SIGTERM', stop);
  const [code] = await once(child, 'exit');
  process.removeListener('SIGTERM', stop);
  return code === 0;
}

async function runTests(options: TestOptions, place: Place): Promise<boolean> {
  const results: StageResult[] = [];
  const stage = async (name: string, run: () => boolean | Promise<boolean>) => {
    const started = performance.now();
    const passed = await run();
    results.push({ name, passed, seconds: (performance.now() - started) / 1000 });
  };
  const plan = planStages(options, availableParallelism());
  const stages = plan.map(({ name }) => name);
  removeReports(CACHE, stages);
  // A run of selected files does not cover the contract, so it is not recorded as the last run.
  const isRun = options.filters.length === 0;
  if (isRun)
    recordRun(CACHE, {
      kind: options.quick ? 'quick' : 'full',
      node: place.version,
      startedAt: new Date().toISOString(),
      stages,
    });
  // They do not depend on the Node, and need the development dependencies.
  if (isRun && place === HERE) await stage('checks', check);
  const pauses: Pause[] = [];
  const repeated: string[] = [];
  for (const one of plan)
    await stage(`${one.name} tests`, async () => {
      const run = await runStage(place, one);
      pauses.push(...run.pauses);
      repeated.push(...run.repeated);
      return run.passed;
    });
  if (isRun) await stage('contract', () => printContract(CACHE));
  const reports = stages.map((name) => readReport(CACHE, name)).filter((report) => report !== undefined);
  const lines = [...pauseLines(pauses, repeated, place.root), ...closingLines(results, reports, place.root)];
  for (const line of lines) console.log(line);
  return results.every(({ passed }) => passed);
}

function problem(message: string): void {
  console.error(message);
  process.exitCode = 2;
}

const options = readTestOptions(process.argv.slice(2));
if (options === 'help') console.log(TEST_HELP);
else if ('problem' in options) problem(`${options.problem}\n\n${TEST_HELP}`);
else {
  const place = options.node === undefined ? HERE : prepareOtherNode(ROOT, options.node);
  if ('problem' in place) problem(place.problem);
  else process.exitCode = (await runTests(options, place)) ? 0 : 1;
}
