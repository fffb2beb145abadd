import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

const MAX_BYTES = 10 * 1024 * 1024;
const KEPT = 3;

/** The files of a log, newest first. */
export const logFiles = (path: string): string[] => [
  path,
  ...Array.from({ length: KEPT }, (_, index) => `${path}.${index + 1}`),
];

/** A log file that only its owner can read. At 10 MB it is renamed and a new one begins; three old ones are kept. */
export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  #file: number;
  #bytes: number;

  constructor(path: string, maxBytes = MAX_BYTES) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#file = openSync(path, 'a', 0o600);
    this.#bytes = fstatSync(this.#file).size;
  }

  /** Never throws: a full disk costs lines of the log, not the connection to the service. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    try {
      if (this.#bytes > 0 && this.#bytes + bytes.length > this.#maxBytes) this.#rotate();
      this.#bytes += writeSync(this.#file, bytes);
    } catch {
      // The line is lost.
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  /** If it fails, logging continues in the current file, and rotation is tried again after another `maxBytes`. */
  #rotate(): void {
    this.#bytes = 0;
    const files = logFiles(this.#path);
    for (let index = files.length - 1; index > 0; index--) renameIfThere(files[index - 1], files[index]);
    const next = openSync(this.#path, 'a', 0o600);
    // Closed last: the descriptor of a closed file may already be reused, for example by the journal.
    this.close();
    this.#file = next;
  }
}

function renameIfThere(from: string | undefined, to: string | undefined): void {
  try {
    if (from !== undefined && to !== undefined) renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
