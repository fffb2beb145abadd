import { SNIFF_BYTES } from './sniff.ts';

/** Keeps a copy of the first bytes of a stream while another reader consumes it. */
export class HeadRecorder {
  /** One buffer: a part of one byte would occupy a hundred (T58). */
  readonly #bytes = Buffer.allocUnsafe(SNIFF_BYTES);
  #size = 0;

  /** Returns the same stream. A reader that stops early closes the source too. */
  async *record(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      const part = chunk.subarray(0, SNIFF_BYTES - this.#size);
      this.#bytes.set(part, this.#size);
      this.#size += part.length;
      yield chunk;
    }
  }

  /** The first bytes of what has been read so far, as many as `sniff` looks at. */
  get head(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }
}
