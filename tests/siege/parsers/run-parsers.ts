import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import type { Fault, Task, TaskReport, WorkerInput } from './input-worker.ts';
import { PARSERS } from './parsers.ts';
import type { Parser } from './parsers.ts';

export interface ParserReport {
  readonly parser: Parser;
  inputs: number;
  slowestMs: number;
  mostBytes: number;
  readonly faults: Fault[];
}

const WORKER = new URL('input-worker.ts', import.meta.url);
/** Without buffers. A parser that keeps more of a file ends its worker. */
const MAX_HEAP_MB = 384;
const CHECK_MS = 250;
/** Longer than any bound, on a busy machine too. */
const HANGS_MS = 60_000;

/** Runs inputs of these parsers, shared out by weight, and resolves with what each of them took. */
export async function runParsers(
  { seed, inputs, only = '' }: { seed: number; inputs: number; only?: string },
  onReport: (report: ParserReport) => void = () => {},
): Promise<ParserReport[]> {
  const parsers = PARSERS.filter(({ name }) => name.includes(only));
  const weights = parsers.reduce((sum, { weight }) => sum + weight, 0);
  const tasks = parsers.map(({ name, weight }) => ({
    parser: name,
    from: 0,
    to: Math.max(1, Math.round((inputs * weight) / weights)),
  }));
  return runTasks(seed, tasks, onReport);
}

/** Runs the input of one parser with this number. */
export async function runOne(seed: number, only: string, number: number): Promise<ParserReport[]> {
  const tasks = PARSERS.filter(({ name }) => name.includes(only)).map(({ name }) => ({
    parser: name,
    from: number,
    to: number + 1,
  }));
  return runTasks(seed, tasks, () => {});
}

async function runTasks(
  seed: number,
  tasks: readonly Task[],
  onReport: (report: ParserReport) => void,
): Promise<ParserReport[]> {
  const reports = tasks.flatMap(({ parser: name }) => {
    const parser = PARSERS.find((one) => one.name === name);
    return parser === undefined
      ? []
      : [{ parser, inputs: 0, slowestMs: 0, mostBytes: 0, faults: [] as Fault[] }];
  });
  let rest = tasks.map((task, index) => ({ ...task, index }));
  while (rest.length > 0) {
    const batch = rest;
    const ended = await runWorker({ seed, tasks: batch }, (place, report) => {
      const total = reports[batch[place]?.index ?? -1];
      if (total === undefined) return;
      total.inputs += report.inputs;
      total.slowestMs = Math.max(total.slowestMs, report.slowestMs);
      total.mostBytes = Math.max(total.mostBytes, report.mostBytes);
      total.faults.push(...report.faults);
      onReport(total);
    });
    if (ended === undefined) break;
    // The task goes on behind the input that ended the worker. What it took before is not known.
    const { task, number, fault } = ended;
    const [current, ...others] = rest.slice(task);
    if (current === undefined) throw new Error(`the worker ended: ${fault}`);
    const total = reports[current.index];
    total?.faults.push({ number, fault });
    if (total !== undefined) total.inputs += number + 1 - current.from;
    rest = [
      ...(number + 1 < current.to && (total?.faults.length ?? 0) < 5
        ? [{ ...current, from: number + 1 }]
        : []),
      ...others,
    ];
  }
  return reports;
}

/** Resolves with undefined when all tasks are done, otherwise with the input that ended the worker. */
async function runWorker(
  { seed, tasks }: Pick<WorkerInput, 'seed' | 'tasks'>,
  onReport: (task: number, report: TaskReport) => void,
): Promise<{ task: number; number: number; fault: string } | undefined> {
  const place = new Int32Array(new SharedArrayBuffer(8));
  const workerData: WorkerInput = { seed, tasks, place };
  const worker = new Worker(WORKER, { workerData, resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
  worker.on('message', ({ index, report }: { index: number; report: TaskReport }) => onReport(index, report));
  const failed = new Promise<string>((resolve) => worker.once('error', (error) => resolve(nameOf(error))));
  const done = once(worker, 'exit').then(() => undefined);
  const stop = new AbortController();
  const ended = await Promise.race([failed, done, hangs(place, stop.signal)]);
  stop.abort();
  if (ended === undefined) return undefined;
  await worker.terminate();
  return { task: Atomics.load(place, 0), number: Atomics.load(place, 1), fault: ended };
}

/** Its code, such as ERR_WORKER_OUT_OF_MEMORY. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error ? String(error.code) : `${error.name}: ${error.message}`;
}

async function hangs(place: Int32Array, signal: AbortSignal): Promise<string> {
  let [last, since] = ['', performance.now()];
  while (!signal.aborted) {
    await sleep(CHECK_MS, undefined, { signal }).catch(() => {});
    const now = `${Atomics.load(place, 0)} ${Atomics.load(place, 1)}`;
    if (now !== last) [last, since] = [now, performance.now()];
    else if (performance.now() - since > HANGS_MS) return `does not return within ${HANGS_MS / 1000} s`;
  }
  return '';
}
