import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { compileCache } from '@footbridge/runtime/compile-cache.js';

import { bundleOf } from './bundles.ts';
import { Child } from './child.ts';
import type { Exit } from './child.ts';

/** A line of a program's log: `msg` and any other fields. Output that is not JSON has only `msg`. */
export interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

const PACKAGES = fileURLToPath(new URL('../../', import.meta.url));

/** The deadline of a start, a log line or an exit, generous because the machine may be under load. */
const WITHIN_MS = 60_000;

/** The environment variables that a program inherits. The developer's own settings must not affect tests. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'NODE_V8_COVERAGE'];

/** A Footbridge program, run in a child process. It can be stopped, killed, suspended and restarted. */
export class Program {
  readonly dataDir: string;
  /** The path of the program. A change takes effect at the next start. */
  main: string;
  readonly #ownsDataDir: boolean;
  readonly #earlierLogs: LogLine[] = [];
  #child: Child | undefined;

  /** `main` is an absolute path, or relative to the folder of the packages. */
  constructor(main: string, dataDir: string | undefined) {
    this.main = resolve(PACKAGES, main);
    this.#ownsDataDir = dataDir === undefined;
    this.dataDir = dataDir ?? mkdtempSync(join(tmpdir(), 'footbridge-'));
  }

  /** All log lines, including those before a restart. */
  get logs(): LogLine[] {
    return [...this.#earlierLogs, ...(this.#child?.lines ?? []).map(readLine)];
  }

  get pid(): number {
    return this.#running.pid;
  }

  get isRunning(): boolean {
    return this.#child?.isRunning ?? false;
  }

  get exited(): Promise<Exit> {
    return this.#running.exited;
  }

  launch(args: readonly string[], env: Record<string, string>): void {
    if (this.#child?.isRunning) throw new Error(`${this.main} is already running.`);
    this.#earlierLogs.push(...(this.#child?.lines ?? []).map(readLine));
    const inherited = INHERITED.flatMap((name) =>
      process.env[name] === undefined ? [] : [[name, process.env[name]]],
    );
    this.#child = new Child(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', bundleOf(this.main), ...args],
      // In its data directory it does not read the developer's .env file.
      {
        cwd: this.dataDir,
        bareEnv: true,
        env: { ...compileCache(), ...Object.fromEntries(inherited), ...env },
      },
    );
  }

  /** Resolves to the first log line with this message since the last start. */
  logged(msg: string, within = WITHIN_MS): Promise<LogLine> {
    return this.#running.line(withMessage(msg), within, `"${msg}"`);
  }

  /** Like `logged`, but ignores lines written before the call. */
  logsNext(msg: string, within = WITHIN_MS): Promise<LogLine> {
    return this.#running.line(withMessage(msg), within, `"${msg}"`, this.#running.lines.length);
  }

  /** Stops it with SIGTERM and keeps its data for a later start. */
  async halt(): Promise<Exit> {
    // A suspended process handles SIGTERM only after SIGCONT.
    this.resume();
    return this.#running.end('SIGTERM', WITHIN_MS);
  }

  /** Stops it and removes its data directory if it is a temporary one. */
  async stop(): Promise<void> {
    if (this.#child) await this.halt();
    if (this.#ownsDataDir) {
      await rm(this.dataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    }
  }

  async kill9(): Promise<void> {
    await this.#running.end('SIGKILL');
  }

  /** Suspends the process with SIGSTOP until `resume`. Its sockets stay open. */
  pause(): void {
    this.#running.signal('SIGSTOP');
  }

  resume(): void {
    this.#running.signal('SIGCONT');
  }

  get #running(): Child {
    if (!this.#child) throw new Error(`${this.main} was not started.`);
    return this.#child;
  }
}

/** Waits for `start`, and stops the program if it fails. */
export async function started<P extends Program>(program: P, start: () => Promise<void>): Promise<P> {
  try {
    await start();
    return program;
  } catch (error) {
    await program.stop();
    throw error;
  }
}

function withMessage(msg: string): (line: string) => LogLine | undefined {
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
    // Not a log line: a stack trace, or a warning from Node.
  }
  return { msg: line };
}
