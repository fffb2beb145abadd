import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Clock } from '@footbridge/runtime/clock';

export interface OsascriptOptions {
  /** The path of `osascript`. */
  readonly path: string;
  readonly clock: Clock;
}

export interface ProgramOutput {
  /** The JSON objects that the program wrote, one a line, in order. Other output is left out. */
  readonly lines: readonly unknown[];
  /**
   * `ended`: by itself. `stopped`: at its deadline, or by a signal; it did nothing after its last line. `overflowed`: it wrote too
   * much, or could not be stopped; lines are missing. `not_started`: there is no such program.
   */
  readonly end: 'ended' | 'stopped' | 'overflowed' | 'not_started';
}

/** One self-contained function, or one that gets what another self-contained function returns. */
export type JxaProgram =
  | (() => void)
  | { readonly library: () => object; readonly main: (library: never) => void };

/** Runs programs, one at a time. */
export interface ProgramRunner {
  run(program: JxaProgram, input: object, timeoutMs: number): Promise<ProgramOutput>;
}

const MAX_OUTPUT_BYTES = 1_000_000;
/** How long a killed process may take to end. */
const KILL_MS = 5_000;

/** Runs JavaScript for Automation, one program at a time. */
export class Osascript implements ProgramRunner {
  readonly #options: OsascriptOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: OsascriptOptions) {
    this.#options = options;
  }

  /**
   * Runs a program. Never rejects. The arguments of the process are constant; the input goes
   * through stdin.
   */
  run(program: JxaProgram, input: object, timeoutMs: number): Promise<ProgramOutput> {
    const run = this.#last
      .then(() => this.#start(program, input, timeoutMs))
      .catch((): ProgramOutput => ({ lines: [], end: 'not_started' }));
    this.#last = run;
    return run;
  }

  async #start(program: JxaProgram, input: object, timeoutMs: number): Promise<ProgramOutput> {
    const args = ['-l', 'JavaScript', '-e', sourceOf(program)];
    // In its own process group, so that its children are stopped with it.
    const child = spawn(this.#options.path, args, { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
    const { promise: ended, resolve: end } = Promise.withResolvers<ProgramOutput['end']>();
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_OUTPUT_BYTES) chunks.push(chunk);
      else end('overflowed');
    });
    child.once('error', () => end('not_started'));
    // `close` instead of `exit`: all output has been read then.
    const { promise: closed, resolve: close } = Promise.withResolvers<void>();
    child.once('close', (code) => {
      end(code === null ? 'stopped' : 'ended');
      close();
    });
    // The program may end without reading its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(input));
    const cancel = this.#options.clock.after(timeoutMs, () => end('stopped'));
    const how = await ended;
    cancel();
    if (how === 'not_started') return { lines: [], end: how };
    stop(child);
    // A process that left the group keeps the output open.
    const isClosed = await Promise.race([closed.then(() => true), sleep(KILL_MS, false, { ref: false })]);
    if (!isClosed) child.stdout.destroy();
    const lines = Buffer.concat(chunks).toString('utf8').split('\n').flatMap(parseLine);
    return { lines, end: isClosed ? how : 'overflowed' };
  }
}

/** The text of a program as it is given to `osascript`. */
export function sourceOf(program: JxaProgram): string {
  if (typeof program === 'function') return `(${program.toString()})()`;
  return `(${program.main.toString()})((${program.library.toString()})())`;
}

function stop({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

function parseLine(line: string): unknown[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? [value] : [];
  } catch {
    return [];
  }
}
