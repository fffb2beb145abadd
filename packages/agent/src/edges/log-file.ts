import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

import { errorCode } from '@footbridge/runtime/error-code';
const MAX_BYTES = 10 * 1024 * 1024;
const KEPT = 3;

/** The files of a log, newest first. */
export const logFiles = (path: string): string[] => [
  path,
  ...Array.from({ length: KEPT }, (_, index) => `${path}.${index + 1}`),
];

export interface LogFileOptions {
  readonly maxBytes?: number;
  /** Called when rotation fails: once, and again after each truncation, which deletes the earlier report. */
  readonly onRotationFailed?: (error: unknown) => void;
  /** Called each time truncation fails. */
  readonly onTruncationFailed?: (error: unknown) => void;
}

/**
 * A log file that only its owner can read, rotated at 10 MB, with three old files. A file that cannot be renamed is truncated at 40 MB. A
 * file that cannot be truncated either keeps growing.
 */
export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #onRotationFailed: (error: unknown) => void;
  readonly #onTruncationFailed: (error: unknown) => void;
  #file: number;
  /** Bytes written since the last attempt to rotate. */
  #bytes: number;
  #isRotationFailing = false;
  #reports: (() => void)[] = [];

  constructor(path: string, options: LogFileOptions = {}) {
    const { maxBytes = MAX_BYTES, onRotationFailed = () => {}, onTruncationFailed = () => {} } = options;
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#onRotationFailed = onRotationFailed;
    this.#onTruncationFailed = onTruncationFailed;
    this.#file = open(path);
    this.#bytes = fstatSync(this.#file).size;
  }

  /** Never throws: a full disk costs lines of the log, not the connection to the service. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    try {
      if (this.#bytes > 0 && this.#bytes + bytes.length > this.#maxBytes) this.#rotateOrTruncate();
      this.#bytes += writeSync(this.#file, bytes);
      // Reports follow a line that was written: on a full disk they would be lost. A report writes a line itself.
      for (const report of this.#reports.splice(0)) report();
    } catch {
      // The line is lost.
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  #rotateOrTruncate(): void {
    // Reset even when rotation fails: the next attempt follows after another `maxBytes`, which keeps a file that can be truncated below 40 MB.
    this.#bytes = 0;
    try {
      this.#rotate();
      this.#isRotationFailing = false;
    } catch (error) {
      const isTruncated = this.#truncateIfFull();
      if (isTruncated || !this.#isRotationFailing) this.#reports.push(() => this.#onRotationFailed(error));
      this.#isRotationFailing = true;
    }
  }

  #rotate(): void {
    // The current file is renamed first: if that fails, no old file is discarded.
    const renamed = `${this.#path}.0`;
    // A process that died during a rotation left this file, and the rename below would overwrite it.
    if (statSync(renamed, { throwIfNoEntry: false })?.isFile() === true) this.#shift(renamed);
    if (renameIfThere(this.#path, renamed)) this.#shiftOrRestore(renamed);
    const old = this.#file;
    this.#file = open(this.#path);
    // Closed last: the descriptor of a closed file may already be reused, for example by the journal.
    closeSync(old);
  }

  /** Makes the renamed file the newest old file. */
  #shift(renamed: string): void {
    const [, ...old] = logFiles(this.#path);
    const moves = old.map((to, index): [from: string, to: string] => [old[index - 1] ?? renamed, to]);
    for (const [from, to] of moves.toReversed()) renameIfThere(from, to);
  }

  #shiftOrRestore(renamed: string): void {
    try {
      this.#shift(renamed);
    } catch (error) {
      renameSync(renamed, this.#path);
      throw error;
    }
  }

  #truncateIfFull(): boolean {
    try {
      if (fstatSync(this.#file).size <= this.#maxBytes * KEPT) return false;
      ftruncateSync(this.#file);
      return true;
    } catch (error) {
      this.#reports.push(() => this.#onTruncationFailed(error));
      return false;
    }
  }
}

function open(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return openSync(path, 'a', 0o600);
}

/** Returns false when there is no such file. */
function renameIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
