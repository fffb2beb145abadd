import { write, writeSync } from 'node:fs';

export interface OutputOptions {
  readonly fd: number;
  /** The size of the buffer for a slow reader. */
  readonly maxBytes: number;
  /** Called with the number of dropped lines once the buffer has room again. */
  readonly onDropped: (lines: number) => void;
}

/** Lines logged within this time are written together, because each write is a system call. */
const COLLECT_MS = 20;
/** The pause after a failed write, for example when the disk is full. */
const RETRY_MS = 1000;
/** An exiting process gives up after this many tries without progress: one second. */
const MAX_EXIT_TRIES = 100;
const EXIT_PAUSE_MS = 10;

/**
 * Writes lines to a file descriptor in the background. Neither a stalled reader nor a full disk blocks the process: lines are dropped while
 * the buffer is full. When the process exits, it writes the buffered lines, until the descriptor accepts nothing for a second.
 */
export class BackgroundOutput {
  readonly #options: OutputOptions;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #isBusy = false;
  /** Whether a write is in flight on the thread pool. */
  #isWriting = false;
  /** The remainder of a write that waits for a slow reader. */
  #blocked: Buffer | undefined;

  constructor(options: OutputOptions) {
    this.#options = options;
    process.once('exit', () => this.#writeRest());
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#waitingBytes + bytes > this.#options.maxBytes) return void this.#dropped++;
    this.#waiting.push(line);
    this.#waitingBytes += bytes;
    if (!this.#isBusy) this.#writeWaiting();
  }

  #writeWaiting(): void {
    this.#isBusy = this.#waiting.length > 0;
    if (this.#isBusy) this.#writeFrom(this.#take(), 0);
  }

  #writeFrom(bytes: Buffer, from: number): void {
    this.#blocked = undefined;
    this.#isWriting = true;
    write(this.#options.fd, bytes, from, undefined, null, (error, written) => {
      this.#isWriting = false;
      if (error !== null) return this.#failed(error, bytes.subarray(from));
      if (from + written < bytes.length) return this.#writeFrom(bytes, from + written);
      setTimeout(() => this.#writeWaiting(), COLLECT_MS).unref();
    });
  }

  /** Retries while the reader is slow. After any other failure the lines are lost. */
  #failed(error: Error, rest: Buffer): void {
    if (isBlocked(error)) {
      this.#blocked = rest;
      setTimeout(() => this.#writeFrom(rest, 0), COLLECT_MS);
      return;
    }
    this.#dropped += rest.toString().split('\n').length - 1;
    setTimeout(() => this.#writeWaiting(), RETRY_MS).unref();
  }

  /** Returns the buffered lines and empties the buffer, which makes room for the report of dropped lines. */
  #take(): Buffer {
    const bytes = Buffer.from(this.#waiting.join(''));
    const dropped = this.#dropped;
    this.#waiting = [];
    this.#waitingBytes = this.#dropped = 0;
    if (dropped > 0) this.#options.onDropped(dropped);
    return bytes;
  }

  #writeRest(): void {
    this.#isBusy = true;
    // The callback of the write in flight no longer runs. The pause lets that write finish, so that its lines come first.
    if (this.#isWriting) pause();
    // The second #take() returns the report of dropped lines.
    let rest = Buffer.concat([this.#blocked ?? Buffer.alloc(0), this.#take(), this.#take()]);
    for (let tries = 0; rest.length > 0 && tries < MAX_EXIT_TRIES; tries++) {
      const written = this.#writtenNow(rest);
      if (written === undefined) return;
      rest = rest.subarray(written);
      if (written > 0) tries = 0;
      else pause();
    }
  }

  /** Returns the number of bytes written, 0 while the descriptor is full, or undefined after any other failure. */
  #writtenNow(bytes: Buffer): number | undefined {
    try {
      return writeSync(this.#options.fd, bytes);
    } catch (error) {
      return isBlocked(error) ? 0 : undefined;
    }
  }
}

const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EXIT_PAUSE_MS);

/** A write to a full non-blocking descriptor fails with EAGAIN until the reader catches up. */
const isBlocked = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EAGAIN';
