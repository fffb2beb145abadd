import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { ConverterProcess } from './converter-process.ts';
import type { ProcessLimits, ProcessOutcome } from './converter-process.ts';
import type { Conversion } from './media-types.ts';

/** A process that keeps more than this after a conversion is replaced: its memory is fragmented or leaks. */
const MAX_IDLE_BYTES = 160 * 1024 * 1024;

export interface SlotOptions {
  readonly folder: string;
  readonly program: URL;
  readonly limits: ProcessLimits;
  /** An unused process is stopped after this time. */
  readonly idleMs: number;
}

/**
 * One conversion at a time, in a folder of its own. Its process is started by the first conversion and reused; after a
 * failure of any kind the next conversion gets a new process, because the state of the old one is unknown.
 */
export class ConversionSlot {
  readonly #options: SlotOptions;
  readonly #input: string;
  readonly #output: string;
  #process: ConverterProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SlotOptions) {
    this.#options = options;
    this.#input = join(options.folder, 'input');
    this.#output = join(options.folder, 'output');
  }

  /** Moves `input` into the folder, and the result to `output` when the conversion succeeds. */
  async convert(conversion: Conversion, input: string, output: string): Promise<ProcessOutcome> {
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
    await rename(input, this.#input);
    try {
      const outcome = await this.#run(conversion);
      if (outcome.kind === 'replied' && outcome.reply.ok) await rename(this.#output, output);
      return outcome;
    } finally {
      await Promise.all([this.#input, this.#output].map((path) => rm(path, { force: true })));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stopProcess();
  }

  async #run(conversion: Conversion): Promise<ProcessOutcome> {
    if (this.#isClosed) return { kind: 'exited', code: null, signal: null };
    clearTimeout(this.#idle);
    if (!this.#process?.isRunning) this.#process = this.#startProcess();
    const running = this.#process;
    const outcome = await running.convert(conversion, this.#options.limits);
    const isSound = outcome.kind === 'replied' && outcome.reply.ok;
    if (isSound && (await running.residentBytes()) <= MAX_IDLE_BYTES)
      this.#idle = setTimeout(() => void this.#stopProcess(), this.#options.idleMs);
    else await this.#stopProcess();
    return outcome;
  }

  #startProcess(): ConverterProcess {
    return new ConverterProcess({
      program: this.#options.program,
      input: this.#input,
      output: this.#output,
    });
  }

  async #stopProcess(): Promise<void> {
    clearTimeout(this.#idle);
    const stopped = this.#process;
    this.#process = undefined;
    await stopped?.kill();
  }
}
