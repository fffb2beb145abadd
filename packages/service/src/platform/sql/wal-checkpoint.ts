import { Worker } from 'node:worker_threads';

/** Rows changed between two checkpoints. With more rows fewer pages are written twice; the WAL grows to about 60 MB meanwhile. */
const ROWS_PER_CHECKPOINT = 6000;
const WORKER = new URL('./wal-checkpoint-worker.ts', import.meta.url);

export interface WalCheckpointDeps {
  readonly file: string;
  /** Runs the task while this process executes no statement. */
  readonly exclusively: (task: () => Promise<void>) => Promise<void>;
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
  /** Called when the thread has checkpointed the WAL, or has ended. */
  #done = () => {};
  #isRunning = false;
  #isClosed = false;

  constructor(deps: WalCheckpointDeps) {
    this.#deps = deps;
  }

  changed(rows: number): void {
    this.#changedRows += rows;
    if (this.#changedRows < ROWS_PER_CHECKPOINT || this.#isRunning || this.#isClosed) return;
    this.#changedRows = 0;
    this.#isRunning = true;
    void this.#run().finally(() => {
      this.#isRunning = false;
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  /**
   * The first checkpoint copies most pages, while statements continue. The second one copies the few that were written meanwhile.
   * SQLite restarts the WAL from its beginning only when no page is left to copy.
   */
  async #run(): Promise<void> {
    this.#worker ??= this.#start();
    await this.#checkpoint();
    await this.#deps.exclusively(async () => {
      // Statements wait for this checkpoint, so the process must not exit before it ends.
      this.#worker?.ref();
      await this.#checkpoint();
      this.#worker?.unref();
    });
  }

  async #checkpoint(): Promise<void> {
    if (this.#worker === undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#done = resolve;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage('checkpoint');
    await promise;
  }

  /** Returns undefined when no thread can be started. */
  #start(): Worker | undefined {
    const { file, onError } = this.#deps;
    try {
      const worker = new Worker(WORKER, { workerData: file, env: {}, execArgv: [] });
      worker.on('message', () => this.#done());
      worker.on('error', onError);
      worker.on('exit', () => {
        this.#worker = undefined;
        this.#done();
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
