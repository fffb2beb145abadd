import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const MAX_BYTES = 10 * 1024 * 1024;
const KEPT = 3;

/** The files of a log, newest first. */
export const logFiles = (path: string): string[] => [
  path,
  ...Array.from({ length: KEPT }, (_, index) => `${path}.${index + 1}`),
];

export interface LogFileOptions {
  readonly maxBytes?: number;
  /** Called when the file cannot be rotated: once, and again each time it is emptied, which deletes the earlier report. */
  readonly onNotRotated?: (error: unknown) => void;
}

/**
 * A log file that only its owner can read. At 10 MB it is renamed and a new one begins; three old ones are kept. A file that cannot be
 * renamed is emptied at 40 MB.
 */
export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #onNotRotated: (error: unknown) => void;
  #file: number;
  /** Bytes written since the last attempt to rotate. */
  #bytes: number;
  #isStuck = false;
  /** The error of a rotation that is still to be reported. */
  #unreported: unknown;

  constructor(path: string, { maxBytes = MAX_BYTES, onNotRotated = () => {} }: LogFileOptions = {}) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#onNotRotated = onNotRotated;
    this.#file = open(path);
    this.#bytes = fstatSync(this.#file).size;
  }

  /** Never throws: a full disk costs lines of the log, not the connection to the service. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    try {
      if (this.#bytes > 0 && this.#bytes + bytes.length > this.#maxBytes) this.#makeRoom();
      this.#bytes += writeSync(this.#file, bytes);
      this.#report();
    } catch {
      // The line is lost.
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  #makeRoom(): void {
    try {
      this.#rotate();
      this.#isStuck = false;
    } catch (error) {
      // The next attempt follows after another `maxBytes`, so the file never exceeds 40 MB.
      const isFull = fstatSync(this.#file).size > this.#maxBytes * KEPT;
      if (isFull) ftruncateSync(this.#file);
      if (isFull || !this.#isStuck) this.#unreported = error;
      this.#isStuck = true;
    }
    this.#bytes = 0;
  }

  #rotate(): void {
    const files = logFiles(this.#path);
    for (let index = files.length - 1; index > 0; index--) renameIfThere(files[index - 1], files[index]);
    const old = this.#file;
    this.#file = open(this.#path);
    // Closed last: the descriptor of a closed file may already be reused, for example by the journal.
    closeSync(old);
  }

  /** Called after a line was written: while the disk is full, the report would be lost too. */
  #report(): void {
    const error = this.#unreported;
    this.#unreported = undefined;
    if (error !== undefined) this.#onNotRotated(error);
  }
}

function open(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return openSync(path, 'a', 0o600);
}

function renameIfThere(from: string | undefined, to: string | undefined): void {
  try {
    if (from !== undefined && to !== undefined) renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
