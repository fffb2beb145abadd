// A worker thread that runs the inputs of `run-parsers.ts`, which ends it when one takes too long or too much memory.
import { parentPort, workerData } from 'node:worker_threads';

import { PARSERS } from './parsers.ts';
import { runInput } from './run-input.ts';

/** The numbers of the inputs of one parser. */
export interface Task {
  readonly parser: string;
  readonly from: number;
  readonly to: number;
}

export interface WorkerInput {
  readonly seed: number;
  readonly tasks: readonly Task[];
  /** Where the worker is: the index of the task, and the number of the input. */
  readonly place: Int32Array;
}

export interface TaskReport {
  readonly inputs: number;
  readonly slowestMs: number;
  readonly mostBytes: number;
  readonly faults: readonly Fault[];
}

export interface Fault {
  readonly number: number;
  readonly fault: string;
}

const MAX_FAULTS = 5;

const { seed, tasks, place } = workerData as WorkerInput;
// The Opus decoder reports every damaged packet.
for (const method of ['error', 'warn', 'log', 'info'] as const) console[method] = () => {};

for (const [index, { parser: name, from, to }] of tasks.entries()) {
  const parser = PARSERS.find((one) => one.name === name);
  if (parser === undefined) throw new Error('there is no such parser');
  let [inputs, slowestMs, mostBytes] = [0, 0, 0];
  const faults: Fault[] = [];
  for (let number = from; number < to && faults.length < MAX_FAULTS; number++) {
    Atomics.store(place, 1, number);
    Atomics.store(place, 0, index);
    const cost = await runInput(parser, seed, number);
    inputs++;
    slowestMs = Math.max(slowestMs, cost.milliseconds);
    mostBytes = Math.max(mostBytes, cost.bytes);
    if (cost.fault !== undefined) faults.push({ number, fault: cost.fault });
  }
  const report: TaskReport = { inputs, slowestMs, mostBytes, faults };
  parentPort?.postMessage({ index, report }, []);
}
