import { closeSync, openSync, writeSync } from 'node:fs';
import { ConversionError, MAX_OUTPUT_BYTES } from './budget.ts';

/** The converted file, written in parts so that no encoder holds all of it. */
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

  get size(): number {
    return this.#size;
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
