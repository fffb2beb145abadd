// A process that runs the inputs of `run-parsers.ts`, which ends it when one takes too long.
import { openSync, writeSync } from 'node:fs';

import { PARSERS } from './parsers.ts';
import { runInput } from './run-input.ts';

/** The numbers of the inputs of one parser. */
export interface Task {
  readonly parser: string;
  readonly from: number;
  readonly to: number;
}

export interface TaskReport {
  readonly parser: string;
  readonly inputs: number;
  readonly slowestMs: number;
  readonly mostBytes: number;
  readonly faults: readonly Fault[];
}

export interface Fault {
  readonly number: number;
  readonly fault: string;
}

export const MAX_FAULTS = 5;

async function runTask(place: number, seed: number, { parser: name, from, to }: Task): Promise<TaskReport> {
  const parser = PARSERS.find((one) => one.name === name);
  if (parser === undefined) throw new Error('there is no such parser');
  let [inputs, slowestMs, mostBytes] = [0, 0, 0];
  const faults: Fault[] = [];
  for (let number = from; number < to && faults.length < MAX_FAULTS; number++) {
    // Outlives the process.
    writeSync(place, String(number).padStart(12), 0);
    const cost = await runInput(parser, seed, number);
    inputs++;
    slowestMs = Math.max(slowestMs, cost.milliseconds);
    mostBytes = Math.max(mostBytes, cost.bytes);
    if (cost.fault !== undefined) faults.push({ number, fault: cost.fault });
  }
  return { parser: name, inputs, slowestMs, mostBytes, faults };
}

const [, , path = '', seed = '', ...tasks] = process.argv;
if (path !== '') {
  // The Opus decoder reports every damaged packet.
  for (const method of ['error', 'warn', 'log', 'info'] as const) console[method] = () => {};
  const place = openSync(path, 'w');
  for (const task of tasks) {
    const report = await runTask(place, Number(seed), JSON.parse(task) as Task);
    await new Promise((resolve) => process.send?.(report, resolve));
  }
  process.disconnect?.();
}
