import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Clock } from '@footbridge/runtime/clock';

export interface OsascriptOptions {
  /** The path of `osascript`. */
  readonly path: string;
  readonly clock: Clock;
}

export interface ProgramOutput {
  /** The JSON objects that the program wrote, one per line, in order. Other output is omitted. */
  readonly lines: readonly unknown[];
  /**
   * `ended`: the program ended by itself. `stopped`: it was stopped at its deadline or by a signal, and did nothing after its last line.
   * `overflowed`: it wrote too much or could not be stopped, and lines are missing. `not_started`: the program does not exist.
   */
  readonly end: 'ended' | 'stopped' | 'overflowed' | 'not_started';
  /** The process in which it ran. */
  readonly pid?: number;
}

/** A script in JavaScript for Automation that refers to no other file. */
export type JxaProgram = string;

/** Runs programs, one at a time. */
export interface ProgramRunner {
  run(program: JxaProgram, input: object, timeoutMs: number): Promise<ProgramOutput>;
}

const MAX_OUTPUT_BYTES = 1_000_000;
/** How long a killed process may take to end. */
const KILL_MS = 5_000;
const SIZE_CHECK_MS = 100;

/** Keeps the output of a program, so that it survives a crash of the agent. */
export interface ProgramRecord {
  readonly path: string;
  /** Called before the program gets its input. */
  started(pid: number): void;
}

/** Runs JavaScript for Automation, one program at a time. */
export class Osascript implements ProgramRunner {
  readonly #options: OsascriptOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: OsascriptOptions) {
    this.#options = options;
  }

  /**
   * Runs a program. Never rejects. The arguments of the process are constant, and the input goes through stdin. With `record`, the output is
   * kept, and the program continues when the agent dies.
   */
  run(program: JxaProgram, input: object, timeoutMs: number, record?: ProgramRecord): Promise<ProgramOutput> {
    const run = this.#last
      .then(() => this.#start(program, input, timeoutMs, record))
      .catch((): ProgramOutput => ({ lines: [], end: 'not_started' }));
    this.#last = run;
    return run;
  }

  async #start(
    program: JxaProgram,
    input: object,
    timeoutMs: number,
    record: ProgramRecord | undefined,
  ): Promise<ProgramOutput> {
    const path = record?.path ?? join(tmpdir(), `footbridge-${randomUUID()}`);
    // A file instead of a pipe, because a pipe without a reader would end the program.
    const file = openSync(path, 'a+', 0o600);
    try {
      const begin = fstatSync(file).size;
      let pid: number | undefined;
      const end = await this.#execute(program, input, timeoutMs, file, (started) => {
        pid = started;
        record?.started(started);
      });
      const bytes = Math.max(0, fstatSync(file).size - begin);
      const isTooLong = bytes > MAX_OUTPUT_BYTES;
      // Read by its descriptor, because a cleanup tool may have removed the file while the program ran.
      const lines = isTooLong ? [] : parseLines(readAt(file, begin, bytes));
      return {
        lines: end === 'not_started' ? [] : lines,
        end: isTooLong ? 'overflowed' : end,
        ...(pid !== undefined && { pid }),
      };
    } finally {
      closeSync(file);
      if (record === undefined) rmSync(path, { force: true });
    }
  }

  async #execute(
    program: JxaProgram,
    input: object,
    timeoutMs: number,
    file: number,
    onStarted: (pid: number) => void,
  ): Promise<ProgramOutput['end']> {
    const args = ['-l', 'JavaScript', '-e', program];
    // In its own process group, so that its children are stopped with it.
    const child = spawn(this.#options.path, args, { stdio: ['pipe', file, 'ignore'], detached: true });
    const { promise: ended, resolve: end } = Promise.withResolvers<ProgramOutput['end']>();
    const { promise: exited, resolve: exit } = Promise.withResolvers<true>();
    child.once('error', () => end('not_started'));
    child.once('exit', (code) => {
      end(code === null ? 'stopped' : 'ended');
      exit(true);
    });
    try {
      if (child.pid !== undefined) onStarted(child.pid);
    } catch (error) {
      stop(child);
      throw error;
    }
    // The program may end without reading its input.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(JSON.stringify(input));
    const cancel = this.#options.clock.after(timeoutMs, () => end('stopped'));
    const sizes = setInterval(() => {
      if (fstatSync(file).size > MAX_OUTPUT_BYTES) end('overflowed');
    }, SIZE_CHECK_MS);
    const how = await ended;
    cancel();
    clearInterval(sizes);
    if (how === 'not_started') return how;
    stop(child);
    const hasExited = await Promise.race([exited, sleep(KILL_MS, false, { ref: false })]);
    return hasExited ? how : 'overflowed';
  }
}

function readAt(file: number, begin: number, bytes: number): string {
  const buffer = Buffer.alloc(bytes);
  return buffer.toString('utf8', 0, readSync(file, buffer, 0, bytes, begin));
}

function stop({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
}

/** Returns the JSON objects in a text, one per line. */
export function parseLines(text: string): unknown[] {
  return text.split('\n').flatMap(parseLine);
}

function parseLine(line: string): unknown[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? [value] : [];
  } catch {
    return [];
  }
}
