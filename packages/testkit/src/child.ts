import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface ChildOptions {
  /** Added to the environment of this process, or the entire environment with `bareEnv`. */
  env?: Record<string, string>;
  bareEnv?: boolean;
  cwd?: string;
  uid?: number;
  gid?: number;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

const running = new Set<ChildProcess>();
let hooked = false;

/** A child process with its output line by line. It is killed when the process that started it exits. */
export class Child {
  /** The lines of standard output and standard error, in order of arrival. */
  readonly lines: string[] = [];
  readonly exited: Promise<Exit>;
  readonly #process: ChildProcess;
  #watchers: ((line: string) => void)[] = [];
  #exit: Exit | undefined;

  constructor(command: string, args: readonly string[], options: ChildOptions = {}) {
    const { env, bareEnv = false, ...rest } = options;
    this.#process = spawn(command, args, {
      ...rest,
      env: bareEnv ? env : { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    killAtExit(this.#process);
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      if (stream) createInterface(stream).on('line', (line) => this.#addLine(line));
    }
    this.exited = new Promise((resolve) => {
      const onExit = (code: number | null, signal: NodeJS.Signals | null) => {
        running.delete(this.#process);
        this.#exit = { code, signal };
        resolve(this.#exit);
      };
      this.#process.once('error', (error) => {
        this.#addLine(String(error));
        onExit(null, null);
      });
      // 'close' instead of 'exit', because only then all lines have been read.
      this.#process.once('close', onExit);
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#exit === undefined;
  }

  /**
   * Resolves to the first result of `match` for a past line, starting at index `from`, or a future one. Rejects with the
   * last lines if the process exits first or after `within` ms.
   */
  async line<T>(match: (line: string) => T | undefined, within: number, what: string, from = 0): Promise<T> {
    for (const line of this.lines.slice(from)) {
      const found = match(line);
      if (found !== undefined) return found;
    }
    let watcher: ((line: string) => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await Promise.race([
        new Promise<T>((resolve) => {
          watcher = (line) => {
            const found = match(line);
            if (found !== undefined) resolve(found);
          };
          this.#watchers.push(watcher);
        }),
        this.exited.then((exit) => {
          throw new Error(`Exited (${exit.code ?? exit.signal}) before ${what}.\n${this.#tail()}`);
        }),
        new Promise<never>((_, reject) => {
          const onTimeout = () => reject(new Error(`Not within ${within} ms: ${what}.\n${this.#tail()}`));
          timer = setTimeout(onTimeout, within);
        }),
      ]);
    } finally {
      clearTimeout(timer);
      this.#watchers = this.#watchers.filter((other) => other !== watcher);
    }
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) this.#process.kill(signal);
  }

  /** Sends the signal, then SIGKILL after `killAfter` ms. Resolves when the process has exited. */
  async end(signal: NodeJS.Signals = 'SIGTERM', killAfter = 10_000): Promise<Exit> {
    this.signal(signal);
    const timer = setTimeout(() => this.signal('SIGKILL'), killAfter);
    const exit = await this.exited;
    clearTimeout(timer);
    return exit;
  }

  #addLine(line: string): void {
    this.lines.push(line);
    for (const watcher of this.#watchers) watcher(line);
  }

  #tail(): string {
    return this.lines.slice(-20).join('\n');
  }
}

function killAtExit(child: ChildProcess): void {
  running.add(child);
  if (hooked) return;
  hooked = true;
  process.on('exit', () => {
    for (const remaining of running) remaining.kill('SIGKILL');
  });
}
