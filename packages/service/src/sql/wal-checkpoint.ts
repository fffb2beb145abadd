import { Worker } from 'node:worker_threads';

/** Rows changed between two checkpoints. With more rows fewer pages are written twice; the WAL grows to about 60 MB meanwhile. */
const ROWS_PER_CHECKPOINT = 6000;
const WORKER = new URL('./wal-checkpoint-worker.ts', import.meta.url);

export interface WalCheckpointDeps {
  readonly file: string;
  /** Called after each checkpoint. A second, short one on the main connection lets SQLite restart the WAL from its beginning. */
  readonly finish: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Checkpoints the WAL in a worker thread: on the main thread a checkpoint would block the event loop.
 * The thread starts with the first checkpoint. When it fails, SQLite's own automatic checkpoint takes over at a larger WAL.
 */
export class WalCheckpoint {
  readonly #deps: WalCheckpointDeps;
  #changedRows = 0;
  #worker: Worker | undefined;
  #isRunning = false;
  #isClosed = false;

  constructor(deps: WalCheckpointDeps) {
    this.#deps = deps;
  }

  changed(rows: number): void {
    this.#changedRows += rows;
    if (this.#changedRows < ROWS_PER_CHECKPOINT || this.#isRunning || this.#isClosed) return;
    this.#changedRows = 0;
    this.#worker ??= this.#start();
    if (this.#worker === undefined) return;
    this.#isRunning = true;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage('checkpoint');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  /** Returns undefined when no thread can be started. */
  #start(): Worker | undefined {
    const { file, finish, onError } = this.#deps;
    try {
      const worker = new Worker(WORKER, { workerData: file, env: {}, execArgv: [] });
      worker.on('message', () => {
        this.#isRunning = false;
        finish();
      });
      worker.on('error', onError);
      worker.on('exit', () => {
        this.#isRunning = false;
        this.#worker = undefined;
      });
      // Last, because adding a message listener refs the thread again.
      worker.unref();
      return worker;
    } catch (error) {
      onError(error);
      return undefined;
    }
  }
}
