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

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#bytes > 0 && this.#bytes + bytes.length > this.#maxBytes) this.#rotate();
    writeSync(this.#file, bytes);
    this.#bytes += bytes.length;
  }

  close(): void {
    closeSync(this.#file);
  }

  #rotate(): void {
    this.close();
    const files = logFiles(this.#path);
    for (let index = files.length - 1; index > 0; index--) renameIfThere(files[index - 1], files[index]);
    this.#file = openSync(this.#path, 'a', 0o600);
    this.#bytes = fstatSync(this.#file).size;
  }
}

function renameIfThere(from: string | undefined, to: string | undefined): void {
  try {
    if (from !== undefined && to !== undefined) renameSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}
