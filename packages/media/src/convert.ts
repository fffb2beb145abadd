import { rm } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';

import type { ConversionOrder } from './convert-worker.ts';
import type { MediaTypeName } from './media-types.ts';

export type ConversionResult =
  | {
      ok: true;
      type: MediaTypeName;
      size: number;
      /** What was lost on the way, for the reader. */ note?: string;
    }
  | { ok: false; /** Why, for the reader. */ reason: string };

export interface ConverterOptions {
  /** Threads at a time. Each may take up to a core and 250 MB. */
  threads?: number;
  /** How long one conversion may take; the largest photo needs five seconds of a core that has nothing else to do. */
  timeoutMs?: number;
  /** How long one may wait for its turn: behind it waits a message. */
  patienceMs?: number;
  /** By how much the whole process may grow while a file is converted, before that is given up. */
  memoryBytes?: number;
  /** Told when a thread died instead of answering: out of its heap, or it could not even start. */
  onCrash?: (error: unknown, order: ConversionOrder) => void;
}

interface Waiting {
  order: ConversionOrder;
  patience: NodeJS.Timeout;
  settle: (result: ConversionResult) => void;
}

const MIB = 1024 * 1024;
const MEMORY_CHECK_MS = 20;
/** The same file that holds this code, as source or as built. */
const WORKER = new URL(`./convert-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/**
 * Converts files that browsers do not show, one thread each: what a hostile file does to a decoder ends with the
 * thread, and so does the memory it took. Files go by path, so that this thread never touches their bytes.
 *
 * `convert` always answers and never throws. When it does not answer `ok`, `output` does not exist and the original
 * is to be delivered as it came.
 */
export class Converter {
  readonly #threads: number;
  readonly #timeoutMs: number;
  readonly #patienceMs: number;
  readonly #memoryBytes: number;
  readonly #onCrash: (error: unknown, order: ConversionOrder) => void;
  readonly #waiting: Waiting[] = [];
  readonly #running = new Set<Worker>();
  #free: number;
  #isClosed = false;

  constructor({
    threads = 1,
    timeoutMs = 60_000,
    patienceMs = 60_000,
    memoryBytes = 224 * MIB,
    onCrash = () => undefined,
  }: ConverterOptions = {}) {
    this.#threads = threads;
    this.#free = threads;
    this.#timeoutMs = timeoutMs;
    this.#patienceMs = patienceMs;
    this.#memoryBytes = memoryBytes;
    this.#onCrash = onCrash;
  }

  convert(order: ConversionOrder): Promise<ConversionResult> {
    if (this.#isClosed) return Promise.resolve(STOPPED);
    return new Promise((settle) => {
      const patience = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        settle({ ok: false, reason: 'too many files are waiting to be converted' });
      }, this.#patienceMs);
      const waiting: Waiting = { order, patience, settle };
      this.#waiting.push(waiting);
      this.#next();
    });
  }

  /** How many are being converted and how many wait. */
  get load(): { running: number; waiting: number } {
    return { running: this.#threads - this.#free, waiting: this.#waiting.length };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { patience, settle } of this.#waiting.splice(0)) {
      clearTimeout(patience);
      settle(STOPPED);
    }
    await Promise.all([...this.#running].map((worker) => worker.terminate()));
  }

  #next(): void {
    if (this.#free === 0) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    clearTimeout(next.patience);
    this.#free -= 1;
    void this.#run(next);
  }

  async #run({ order, settle }: Waiting): Promise<void> {
    const result = await this.#inThread(order);
    if (!result.ok) await rm(order.output, { force: true }).catch(() => undefined);
    this.#free += 1;
    settle(result);
    this.#next();
  }

  #inThread(order: ConversionOrder): Promise<ConversionResult> {
    return new Promise((resolve) => {
      const worker = new Worker(WORKER, {
        workerData: order,
        // The heap of scripts; pixels lie outside of it and are bounded by what each decoder is allowed to unpack.
        resourceLimits: { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
        // Some decoders write to the console about what they read.
        stdout: true,
        stderr: true,
        env: {},
        // Flags meant for the main script (`--input-type`, `--import` …) may be wrong or costly here.
        execArgv: [],
      });
      this.#running.add(worker);
      let result: ConversionResult = { ok: false, reason: 'the file could not be converted' };
      const giveUp = (reason: string) => {
        result = { ok: false, reason };
        void worker.terminate();
      };
      const timeout = setTimeout(() => giveUp('converting the file takes too long'), this.#timeoutMs);
      const ceiling = process.memoryUsage.rss() + this.#memoryBytes;
      const watch = setInterval(() => {
        if (process.memoryUsage.rss() > ceiling) giveUp('converting the file takes too much memory');
      }, MEMORY_CHECK_MS);
      worker.on('message', (message: ConversionResult) => {
        result = message;
      });
      worker.on('error', (error) => this.#onCrash(error, order));
      worker.on('exit', () => {
        clearTimeout(timeout);
        clearInterval(watch);
        this.#running.delete(worker);
        resolve(this.#isClosed && !result.ok ? STOPPED : result);
      });
    });
  }
}

const STOPPED: ConversionResult = { ok: false, reason: 'the service is stopping' };
