import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import type { Fault, Task, TaskReport } from './input-process.ts';
import { PARSERS } from './parsers.ts';
import type { Parser } from './parsers.ts';

export interface ParserReport {
  readonly parser: Parser;
  inputs: number;
  slowestMs: number;
  mostBytes: number;
  readonly faults: Fault[];
}

const PROGRAM = fileURLToPath(new URL('input-process.ts', import.meta.url));
/** Without buffers. A parser that keeps more of a file ends its process. */
const FLAGS = ['--max-old-space-size=384', '--expose-gc', '--disable-warning=ExperimentalWarning'];
const MAX_FAULTS = 5;
const CHECK_MS = 250;
/** Longer than any bound, on a busy machine too. */
const HANGS_MS = 60_000;

/** Runs inputs of these parsers, shared out by weight, and resolves with what each of them took. */
export async function runParsers(
  { seed, inputs, only = '' }: { seed: number; inputs: number; only?: string },
  onReport?: (report: ParserReport) => void,
): Promise<ParserReport[]> {
  const parsers = PARSERS.filter(({ name }) => name.includes(only));
  const weights = parsers.reduce((sum, { weight }) => sum + weight, 0);
  const shareOf = ({ weight }: Parser) => Math.max(1, Math.round((inputs * weight) / weights));
  const tasks = parsers.map((parser) => ({ parser: parser.name, from: 0, to: shareOf(parser) }));
  return runTasks(seed, tasks, onReport);
}

/** Runs the input with this number. */
export async function runOne(seed: number, only: string, number: number): Promise<ParserReport[]> {
  const parsers = PARSERS.filter(({ name }) => name.includes(only));
  return runTasks(
    seed,
    parsers.map(({ name }) => ({ parser: name, from: number, to: number + 1 })),
  );
}

async function runTasks(
  seed: number,
  tasks: readonly Task[],
  onReport: (report: ParserReport) => void = () => {},
): Promise<ParserReport[]> {
  const reports = new Map<string, ParserReport>();
  for (const parser of PARSERS)
    reports.set(parser.name, { parser, inputs: 0, slowestMs: 0, mostBytes: 0, faults: [] });
  const folder = mkdtempSync(join(tmpdir(), 'parsers-'));
  let rest = [...tasks];
  while (rest.length > 0) {
    const ended = await runProcess(join(folder, 'input'), seed, rest, (done) => {
      rest.shift();
      const total = reports.get(done.parser);
      if (total === undefined) return;
      total.inputs += done.inputs;
      total.slowestMs = Math.max(total.slowestMs, done.slowestMs);
      total.mostBytes = Math.max(total.mostBytes, done.mostBytes);
      total.faults.push(...done.faults);
      onReport(total);
    });
    const [task] = rest;
    if (task === undefined) break;
    // The task goes on behind the input that ended the process. What it took before is not known.
    const { number, fault } = ended;
    const total = reports.get(task.parser);
    if (number < task.from || total === undefined)
      throw new Error(`the process of the inputs ended: ${fault}`);
    total.inputs += number + 1 - task.from;
    total.faults.push({ number, fault });
    const next = { ...task, from: number + 1 };
    if (next.from < next.to && total.faults.length < MAX_FAULTS) rest = [next, ...rest.slice(1)];
    else {
      rest.shift();
      onReport(total);
    }
  }
  rmSync(folder, { recursive: true });
  return tasks.flatMap(({ parser }) => reports.get(parser) ?? []);
}

/** Resolves when the process has ended, with the input that it worked on. */
async function runProcess(
  path: string,
  seed: number,
  tasks: readonly Task[],
  onReport: (report: TaskReport) => void,
): Promise<{ number: number; fault: string }> {
  const args = [path, String(seed), ...tasks.map((task) => JSON.stringify(task))];
  const child = fork(PROGRAM, args, { execArgv: FLAGS, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  let complaint = '';
  child.stderr
    ?.setEncoding('utf8')
    .on('data', (text: string) => (complaint = (complaint + text).slice(-4000)));
  child.on('message', (report) => onReport(report as TaskReport));
  const exit = once(child, 'exit');
  const stop = new AbortController();
  const hang = hangs(path, stop.signal);
  const isHanging = (await Promise.race([exit, hang])) === HANGS;
  stop.abort();
  if (isHanging) child.kill('SIGKILL');
  const [code, signal] = (await exit) as [number | null, string | null];
  const fault = isHanging
    ? `does not return within ${HANGS_MS / 1000} s`
    : `ends the process: ${signal ?? code} ${complaint.replaceAll(/[\s#]+/g, ' ').slice(0, 300)}`;
  return { number: existsSync(path) ? Number(readFileSync(path, 'utf8')) : -1, fault };
}

const HANGS = 'hangs';

/** Resolves when the process works on the same input for too long. */
async function hangs(path: string, signal: AbortSignal): Promise<typeof HANGS | undefined> {
  let [last, since] = [Buffer.alloc(0), performance.now()];
  while (!signal.aborted) {
    await sleep(CHECK_MS, undefined, { signal }).catch(() => {});
    const now = existsSync(path) ? readFileSync(path) : last;
    if (!now.equals(last)) [last, since] = [now, performance.now()];
    else if (performance.now() - since > HANGS_MS) return HANGS;
  }
  return undefined;
}
