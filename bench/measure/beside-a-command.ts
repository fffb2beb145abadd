import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Service } from '@footbridge/testkit/service';

import { tail } from './statistics.ts';

const CLI = join(import.meta.dirname, '../../packages/cli/src/main.ts');
const PROBE_EVERY_MS = 20;

export const print = (name: string, value: string) => process.stdout.write(`${name.padEnd(34)} ${value}\n`);

export function printTimes(name: string, times: readonly number[]): void {
  const { p50, p99, max, samples } = tail(times);
  print(name, `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(1)} ms (${samples})`);
}

export async function timed(task: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await task();
  return performance.now() - start;
}

/** Repeats a request after a pause until `ended` returns true. Resolves with the time of each. */
export async function repeat(
  request: () => Promise<unknown>,
  pauseMs: number,
  ended: () => boolean,
): Promise<number[]> {
  const times: number[] = [];
  while (!ended()) {
    times.push(await timed(request));
    await sleep(pauseMs);
  }
  return times;
}

/** Probes the event loop of the service, with a request that uses neither the database nor a token. */
export const probe = ({ operatorUrl }: Service, ended: () => boolean): Promise<number[]> =>
  repeat(async () => (await fetch(`${operatorUrl}/livez`)).text(), PROBE_EVERY_MS, ended);

/** Starts a command of the command line. `ended` becomes true when it exits. */
export function startCommand(args: readonly string[], env: Record<string, string>) {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CLI, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const command = { ended: false, pid: child.pid ?? 0, seconds: 0, exited: Promise.resolve() };
  const start = performance.now();
  command.exited = once(child, 'exit').then(() => {
    command.ended = true;
    command.seconds = (performance.now() - start) / 1000;
  });
  return command;
}
