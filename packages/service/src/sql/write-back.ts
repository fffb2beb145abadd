import { Worker } from 'node:worker_threads';

/** Rows changed between two passes. The more, the fewer pages are written twice; the log grows to some 60 MB meanwhile. */
const PORTION = 6000;
const WORKER = new URL('./write-back-worker.ts', import.meta.url);

/**
 * Brings what SQLite's log holds into the database file, in a thread of its own: on the event loop nobody would be answered for as long
 * as it takes. The thread is started when there is enough to do for the first time.
 */
export class WriteBack {
  readonly #file: string;
  readonly #finish: () => void;
  #changed = 0;
  #worker: Worker | undefined;
  #isAtWork = false;
  #isClosed = false;

  /** `finish` is called after a pass: what was written in the meantime is little, and once that is done too the log begins anew. */
  constructor(file: string, finish: () => void) {
    this.#file = file;
    this.#finish = finish;
  }

  changed(rows: number): void {
    this.#changed += rows;
    if (this.#changed < PORTION || this.#isAtWork || this.#isClosed) return;
    this.#changed = 0;
    this.#worker ??= this.#start();
    if (this.#worker === undefined) return;
    this.#isAtWork = true;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage('write back');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  /** Undefined where no thread can be had: what was written is written all the same, and the database writes back by itself. */
  #start(): Worker | undefined {
    const worker = newWorker(this.#file);
    worker?.on('message', () => {
      this.#isAtWork = false;
      this.#finish();
    });
    // It could not read or write: the next portion tries again.
    worker?.on('error', () => {});
    worker?.on('exit', () => {
      this.#isAtWork = false;
      this.#worker = undefined;
    });
    // Last: a listener for messages would keep the process alive again.
    worker?.unref();
    return worker;
  }
}

function newWorker(file: string): Worker | undefined {
  try {
    return new Worker(WORKER, { workerData: file, env: {}, execArgv: [] });
  } catch {
    return undefined;
  }
}
