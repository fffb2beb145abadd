import { SNIFF_BYTES } from './sniff.ts';

/** Keeps a copy of the first bytes of a stream while another reader consumes it. */
export class HeadRecorder {
  readonly #parts: Buffer[] = [];
  #size = 0;

  /** Returns the same stream. A reader that stops early closes the source too. */
  async *record(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      if (this.#size < SNIFF_BYTES) {
        const part = Buffer.from(chunk.subarray(0, SNIFF_BYTES - this.#size));
        this.#parts.push(part);
        this.#size += part.length;
      }
      yield chunk;
    }
  }

  /** The first bytes of what has been read so far, as many as `sniff` looks at. */
  get head(): Buffer {
    return Buffer.concat(this.#parts);
  }
}
