import { closeSync, openSync, writeSync } from 'node:fs';
import { MAX_OUTPUT_BYTES, ConversionError } from './budget.ts';

/** The result on its way to disk, piece by piece, so that no encoder holds all of it. */
export class OutputFile {
  readonly #descriptor: number;
  #size = 0;

  constructor(path: string) {
    this.#descriptor = openSync(path, 'w', 0o600);
  }

  write(bytes: Uint8Array): void {
    this.#size += bytes.byteLength;
    if (this.#size > MAX_OUTPUT_BYTES) throw new ConversionError('the converted file would be too large');
    for (let at = 0; at < bytes.byteLength;) at += writeSync(this.#descriptor, bytes, at);
  }

  /** Fills in what was not yet known when the beginning was written. */
  patch(position: number, bytes: Uint8Array): void {
    writeSync(this.#descriptor, bytes, 0, bytes.byteLength, position);
  }

  get size(): number {
    return this.#size;
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
