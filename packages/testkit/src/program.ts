import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from './child.ts';
import type { Exit } from './child.ts';

/** A line of a program's log: `msg` and whatever fields. Output that is not JSON has only `msg`. */
export interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** For a start, a line of the log, an exit. On a loaded machine each of them is slow; only one that never comes is a failure. */
const WITHIN_MS = 60_000;

/** As when it is started by its own command: half of a start is compiling. */
const COMPILED = join(ROOT, 'node_modules/.cache/footbridge/compiled');

/** What a program needs of the machine; the developer's own settings stay out of tests. */
const KEPT = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'NODE_V8_COVERAGE'];

/** One of our programs, run from source as a process of its own, with a log to read and every way to die. */
export class Program {
  readonly dataDir: string;
  readonly #main: string;
  readonly #ownsDataDir: boolean;
  readonly #earlier: LogLine[] = [];
  #child: Child | undefined;

  /** `main` is a path from the root of the repository. */
  constructor(main: string, dataDir: string | undefined) {
    this.#main = join(ROOT, main);
    this.#ownsDataDir = dataDir === undefined;
    this.dataDir = dataDir ?? mkdtempSync(join(tmpdir(), 'footbridge-'));
  }

  /** Everything it wrote, over all its lives. */
  get logs(): LogLine[] {
    return [...this.#earlier, ...(this.#child?.lines ?? []).map(readLine)];
  }

  get pid(): number {
    return this.#running.pid;
  }

  get exited(): Promise<Exit> {
    return this.#running.exited;
  }

  launch(args: readonly string[], env: Record<string, string>): void {
    if (this.#child?.isRunning) throw new Error(`${this.#main} is running already.`);
    this.#earlier.push(...(this.#child?.lines ?? []).map(readLine));
    const kept = KEPT.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
    this.#child = new Child(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', this.#main, ...args],
      // In a directory of its own it meets no .env of the developer's.
      {
        cwd: this.dataDir,
        bareEnv: true,
        env: { NODE_COMPILE_CACHE: COMPILED, ...Object.fromEntries(kept), ...env },
      },
    );
  }

  /** The first line of its present life with that message, written already or to come. */
  logged(msg: string, within = WITHIN_MS): Promise<LogLine> {
    return this.#running.line(saying(msg), within, `"${msg}"`);
  }

  /** Like `logged`, but only lines from now on count. */
  logsNext(msg: string, within = WITHIN_MS): Promise<LogLine> {
    return this.#running.line(saying(msg), within, `"${msg}"`, this.#running.lines.length);
  }

  /** Ends it politely and keeps its data, for a start later on. */
  async halt(): Promise<Exit> {
    // A frozen process takes its leave only once it is thawed.
    this.resume();
    return this.#running.end('SIGTERM', WITHIN_MS);
  }

  /** Ends it for good; a data directory made for it goes too. */
  async stop(): Promise<void> {
    if (this.#child) await this.halt();
    if (this.#ownsDataDir) {
      await rm(this.dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    }
  }

  async kill9(): Promise<void> {
    await this.#running.end('SIGKILL');
  }

  /** Frozen with its sockets open (SIGSTOP), until `resume`. */
  pause(): void {
    this.#running.signal('SIGSTOP');
  }

  resume(): void {
    this.#running.signal('SIGCONT');
  }

  get #running(): Child {
    if (!this.#child) throw new Error(`${this.#main} was not started.`);
    return this.#child;
  }
}

/** Runs it until it is up, and clears away after a start that failed. */
export async function started<P extends Program>(program: P, up: () => Promise<void>): Promise<P> {
  try {
    await up();
    return program;
  } catch (error) {
    await program.stop();
    throw error;
  }
}

function saying(msg: string): (line: string) => LogLine | undefined {
  return (line) => {
    const read = readLine(line);
    return read.msg === msg ? read : undefined;
  };
}

function readLine(line: string): LogLine {
  try {
    const read: unknown = JSON.parse(line);
    if (typeof read === 'object' && read !== null && 'msg' in read) return { ...read, msg: String(read.msg) };
  } catch {
    // Not of the log: a stack trace, or a warning of Node's.
  }
  return { msg: line };
}
