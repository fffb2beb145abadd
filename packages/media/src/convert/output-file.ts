import { ConversionError, MAX_OUTPUT_BYTES } from './budget.ts';

/** The converted file, written in parts so that no encoder holds all of it. */
export class OutputFile {
  readonly #send: (part: Uint8Array) => void;
  #size = 0;

  constructor(send: (part: Uint8Array) => void) {
    this.#send = send;
  }

  write(bytes: Uint8Array): void {
    this.#size += bytes.byteLength;
    if (this.#size > MAX_OUTPUT_BYTES) throw new ConversionError('the converted file would be too large');
    this.#send(bytes);
  }

  get size(): number {
    return this.#size;
  }
}
