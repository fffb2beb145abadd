import { write, writeSync } from 'node:fs';

export interface OutputOptions {
  readonly fd: number;
  /** Bytes that wait for a slow reader. */
  readonly maxBytes: number;
  /** Called when there is room for lines again, with the number of those that were dropped. */
  readonly onDropped: (lines: number) => void;
}

/** Lines of this time are written together: a write costs more than a line. */
const COLLECT_MS = 20;
/** The pause after a failed write, such as to a full disk. */
const RETRY_MS = 1000;
/** How long a process that exits waits for a reader that does not continue: one second. */
const MAX_EXIT_TRIES = 100;
const EXIT_PAUSE_MS = 10;

/**
 * Writes lines to a file descriptor in the background. Neither a reader that hangs nor a full disk stops the process: lines are dropped while
 * too many wait. What waits when the process exits is written then, as far as the descriptor accepts it within a second.
 */
export class BackgroundOutput {
  readonly #options: OutputOptions;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #isBusy = false;
  /** Whether another thread is writing. */
  #isWriting = false;
  /** The rest of a write, until the reader continues. */
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

  /** After another failure than a slow reader the lines are lost. */
  #failed(error: Error, rest: Buffer): void {
    if (isBlocked(error)) {
      this.#blocked = rest;
      setTimeout(() => this.#writeFrom(rest, 0), COLLECT_MS);
      return;
    }
    this.#dropped += rest.toString().split('\n').length - 1;
    setTimeout(() => this.#writeWaiting(), RETRY_MS).unref();
  }

  /** Returns what waits. There is room for the report of dropped lines then. */
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
    // Its end cannot be observed any more. It takes microseconds, and comes first.
    if (this.#isWriting) pause();
    // The second part is the report of dropped lines.
    let rest = Buffer.concat([this.#blocked ?? Buffer.alloc(0), this.#take(), this.#take()]);
    for (let tries = 0; rest.length > 0 && tries < MAX_EXIT_TRIES; tries++) {
      const written = this.#writtenNow(rest);
      if (written === undefined) return;
      rest = rest.subarray(written);
      if (written > 0) tries = 0;
      else pause();
    }
  }

  /** Returns the number of bytes that the descriptor accepts now, or undefined when it accepts none at all. */
  #writtenNow(bytes: Buffer): number | undefined {
    try {
      return writeSync(this.#options.fd, bytes);
    } catch (error) {
      return isBlocked(error) ? 0 : undefined;
    }
  }
}

const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EXIT_PAUSE_MS);

/** A descriptor that does not block is full until its reader continues. */
const isBlocked = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EAGAIN';
