import { stripVTControlCharacters } from 'node:util';

import { spawn } from '@lydell/node-pty';
import type { IPty } from '@lydell/node-pty';
import { until } from '@footbridge/testkit/until';

/** A program in a terminal, with a person who reads and types. */
export class TerminalSession {
  readonly exited: Promise<number>;
  readonly #terminal: IPty;
  #output = '';
  #read = 0;

  constructor(program: string, args: readonly string[], env: Record<string, string>) {
    this.#terminal = spawn(program, [...args], { cols: 200, rows: 50, cwd: env['HOME'] ?? '/', env });
    this.#terminal.onData((data) => {
      this.#output += data;
    });
    this.exited = new Promise((resolve) => this.#terminal.onExit(({ exitCode }) => resolve(exitCode)));
  }

  get output(): string {
    return stripVTControlCharacters(this.#output).replaceAll('\r', '');
  }

  /** Resolves when the text appears after what was read before. */
  async reads(text: string): Promise<void> {
    await until(() => this.output.includes(text, this.#read), { what: JSON.stringify(text) }).catch(
      (error: unknown) => {
        throw new Error(`The terminal shows:\n${this.output}`, { cause: error });
      },
    );
    this.#read = this.output.indexOf(text, this.#read) + text.length;
  }

  types(line: string): void {
    this.#terminal.write(`${line}\r`);
  }

  /** Presses Control-C. */
  interrupts(): void {
    this.#terminal.write('\u0003');
  }

  end(): void {
    this.#terminal.kill('SIGKILL');
  }
}
