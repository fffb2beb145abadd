import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { ConverterProcess } from './converter-process.ts';
import type { ProcessLimits, ProcessOutcome } from './converter-process.ts';
import type { Conversion } from './media-types.ts';

/** A process that keeps more than this after a conversion is replaced: its memory is fragmented or leaks. */
const MAX_IDLE_BYTES = 160 * 1024 * 1024;
/** An unused process is stopped after this time, so that a service without attachments does not pay for it. */
const IDLE_MS = 5 * 60_000;

/**
 * One conversion at a time, in a folder of its own. Its process is started by the first conversion and reused; after a
 * failure of any kind the next conversion gets a new process, because the state of the old one is unknown.
 */
export class ConversionSlot {
  readonly #folder: string;
  readonly #input: string;
  readonly #output: string;
  readonly #program: URL;
  readonly #limits: ProcessLimits;
  #process: ConverterProcess | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(folder: string, program: URL, limits: ProcessLimits) {
    this.#folder = folder;
    this.#input = join(folder, 'input');
    this.#output = join(folder, 'output');
    this.#program = program;
    this.#limits = limits;
  }

  /** Moves `input` into the folder, and the result to `output` when the conversion succeeds. */
  async convert(conversion: Conversion, input: string, output: string): Promise<ProcessOutcome> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
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
    clearTimeout(this.#idle);
    const running = this.#process;
    this.#process = undefined;
    await running?.kill();
  }

  async #run(conversion: Conversion): Promise<ProcessOutcome> {
    clearTimeout(this.#idle);
    if (!this.#process?.isRunning) this.#process = this.#start();
    const running = this.#process;
    const outcome = await running.convert(conversion, this.#limits);
    const isSound = outcome.kind === 'replied' && outcome.reply.ok;
    if (isSound && (await running.residentBytes()) <= MAX_IDLE_BYTES)
      this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    else await this.close();
    return outcome;
  }

  #start(): ConverterProcess {
    return new ConverterProcess({ program: this.#program, input: this.#input, output: this.#output });
  }
}
