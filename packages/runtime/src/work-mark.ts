import { closeSync, constants, openSync, readSync, statSync, writeSync } from 'node:fs';
import { uptime } from 'node:os';

/** The length of the name comes first. */
const HEADER_BYTES = 2;
const MAX_NAME_BYTES = 4096;

/** A machine that lost its power ended every process: that says nothing about what was in work. */
const isFromBeforeBoot = (path: string) => statSync(path).mtimeMs < Date.now() - uptime() * 1000;

/**
 * Names what this process works on, in a file that outlives the process: after a crash, it names what ended it. Only one thing is named at
 * a time, because one thread does the work. The file is never synced: the page cache survives the end of the process, and a power cut is
 * no evidence.
 */
export class WorkMark {
  /** What the former process worked on when it died. Undefined when it worked on nothing, or there was none. */
  readonly left: string | undefined;
  readonly #fd: number;
  readonly #buffer = Buffer.alloc(HEADER_BYTES + MAX_NAME_BYTES);
  #named: string | undefined;
  #clearing: NodeJS.Immediate | undefined;
  #isClosed = false;

  /** Throws when the file cannot be opened. */
  constructor(path: string) {
    this.#fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    const bytes = readSync(this.#fd, this.#buffer, 0, this.#buffer.length, 0);
    const end = bytes < HEADER_BYTES ? 0 : HEADER_BYTES + this.#buffer.readUInt16LE(0);
    const name = this.#buffer.toString('utf8', HEADER_BYTES, Math.min(end, bytes));
    this.left = name === '' || isFromBeforeBoot(path) ? undefined : name;
    this.#write(0);
  }

  /** Names the work until the end of this turn of the event loop, or until other work is named. */
  name(work: string): void {
    if (work !== this.#named) {
      const bytes = this.#buffer.write(work, HEADER_BYTES, MAX_NAME_BYTES);
      this.#named = work;
      this.#write(bytes);
    }
    this.#clearing ??= setImmediate(() => {
      this.#clearing = undefined;
      this.clear();
    });
  }

  /**
   * Runs synchronous work under its name. Afterwards the work that was named before is named again. When the work throws, it stays named
   * until the end of this turn: the error may end the process.
   */
  during<T>(work: string, run: () => T): T {
    const before = this.#named;
    this.name(work);
    const result = run();
    if (before === undefined) this.clear();
    else this.name(before);
    return result;
  }

  /** Nothing is in work. */
  clear(): void {
    if (this.#named === undefined) return;
    this.#named = undefined;
    this.#write(0);
  }

  /** Keeps what is named now: the process is about to end by a bug. */
  freeze(): void {
    this.#isClosed = true;
  }

  /** Names `left` again for the next process, and nothing else from now on: it could not be recorded. */
  giveBack(): void {
    if (this.left !== undefined) this.name(this.left);
    this.freeze();
  }

  /** Ends without work. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    clearImmediate(this.#clearing);
    this.clear();
    this.#isClosed = true;
    closeSync(this.#fd);
  }

  /** A disk that fails must not fail the work: it is then not named. */
  #write(bytes: number): void {
    if (this.#isClosed) return;
    this.#buffer.writeUInt16LE(bytes, 0);
    try {
      writeSync(this.#fd, this.#buffer, 0, HEADER_BYTES + bytes, 0);
    } catch {
      // Nothing is known of a crash from now on.
    }
  }
}
