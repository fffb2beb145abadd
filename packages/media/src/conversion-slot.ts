import { rm } from 'node:fs/promises';

import { ConverterProcess } from './converter-process.ts';
import type { ConversionFiles, ProcessLimits, ProcessOutcome } from './converter-process.ts';
import type { ProcessUser } from './sandbox.ts';

/** A process that keeps more than this after a conversion is replaced: its memory is fragmented or leaks. */
const MAX_IDLE_BYTES = 160 * 1024 * 1024;

export interface SlotOptions {
  readonly program: URL;
  /** The user of the process; undefined for that of this process. */
  readonly user: () => Promise<ProcessUser | undefined>;
  readonly limits: ProcessLimits;
  /** An unused process is stopped after this time. */
  readonly idleMs: number;
}

/**
 * One conversion at a time. Its process is started by the first conversion and reused; after a failure of any kind the next
 * conversion gets a new process, because the state of the old one is unknown.
 */
export class ConversionSlot {
  readonly #options: SlotOptions;
  #process: ConverterProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  /** There is an output only if the conversion succeeds. */
  async convert(files: ConversionFiles): Promise<ProcessOutcome> {
    let outcome: ProcessOutcome | undefined;
    try {
      outcome = await this.#run(files);
      return outcome;
    } finally {
      if (!isSuccess(outcome)) {
        await this.#stopProcess();
        await rm(files.output, { force: true });
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stopProcess();
  }

  async #run(files: ConversionFiles): Promise<ProcessOutcome> {
    clearTimeout(this.#idle);
    if (this.#process?.isIdle !== true) await this.#startProcess();
    const running = this.#process;
    if (running === undefined) return { kind: 'exited', code: null, signal: null };
    const outcome = await running.convert(files, this.#options.limits);
    if ((await running.residentBytes()) > MAX_IDLE_BYTES) await this.#stopProcess();
    else this.#idle = setTimeout(() => void this.#stopProcess(), this.#options.idleMs);
    return outcome;
  }

  async #startProcess(): Promise<void> {
    await this.#stopProcess();
    const user = await this.#options.user();
    if (!this.#isClosed) this.#process = new ConverterProcess(this.#options.program, user);
  }

  async #stopProcess(): Promise<void> {
    clearTimeout(this.#idle);
    const stopped = this.#process;
    this.#process = undefined;
    await stopped?.kill();
  }
}

const isSuccess = (outcome: ProcessOutcome | undefined) => outcome?.kind === 'replied' && outcome.reply.ok;
