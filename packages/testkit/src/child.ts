import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface ChildOptions {
  /** Added to the environment of this process, or all there is with `bareEnv`. */
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

/** A process of ours: its output line by line, its end as a promise. It never outlives the process that started it. */
export class Child {
  /** Standard output and standard error together, as they came. */
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
      if (stream) createInterface(stream).on('line', (line) => this.#heard(line));
    }
    this.exited = new Promise((resolve) => {
      const ended = (code: number | null, signal: NodeJS.Signals | null) => {
        running.delete(this.#process);
        this.#exit = { code, signal };
        resolve(this.#exit);
      };
      this.#process.once('error', (error) => {
        this.#heard(String(error));
        ended(null, null);
      });
      // 'close' rather than 'exit': by then the last lines have been read.
      this.#process.once('close', ended);
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#exit === undefined;
  }

  /** The first line, past (but for the first `from`) or coming, that fits; an early end or the deadline is an error which shows the last lines. */
  async line<T>(fits: (line: string) => T | undefined, within: number, what: string, from = 0): Promise<T> {
    for (const line of this.lines.slice(from)) {
      const found = fits(line);
      if (found !== undefined) return found;
    }
    let watcher: ((line: string) => void) | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await Promise.race([
        new Promise<T>((resolve) => {
          watcher = (line) => {
            const found = fits(line);
            if (found !== undefined) resolve(found);
          };
          this.#watchers.push(watcher);
        }),
        this.exited.then((exit) => {
          throw new Error(`Ended (${exit.code ?? exit.signal}) before ${what}.\n${this.#tail()}`);
        }),
        new Promise<never>((_, reject) => {
          const give = () => reject(new Error(`Not within ${within} ms: ${what}.\n${this.#tail()}`));
          timer = setTimeout(give, within);
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

  /** Asks it to end, and insists after `patience`. */
  async end(signal: NodeJS.Signals = 'SIGTERM', patience = 10_000): Promise<Exit> {
    this.signal(signal);
    const insist = setTimeout(() => this.signal('SIGKILL'), patience);
    const exit = await this.exited;
    clearTimeout(insist);
    return exit;
  }

  #heard(line: string): void {
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
    for (const left of running) left.kill('SIGKILL');
  });
}
