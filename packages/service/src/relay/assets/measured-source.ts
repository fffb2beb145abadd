import { createHash } from 'node:crypto';

/** Counts and hashes the bytes of an upload, and throws when they exceed the limit. */
export class Meter {
  size = 0;
  readonly #hash = createHash('sha256');
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(chunk: Uint8Array): void {
    this.size += chunk.byteLength;
    if (this.size > this.#limit) throw new SizeLimitError(this.#limit);
    this.#hash.update(chunk);
  }

  sha256(): string {
    return this.#hash.digest('hex');
  }
}

/** Thrown by `Meter.add` to stop an upload. Engines turn it into `too_large`. */
export class SizeLimitError extends Error {
  override readonly name = 'SizeLimitError';
  constructor(limit: number) {
    super(`more than ${limit} bytes`);
  }
}

/** Wraps an error of the source, so that an engine can tell it from its own errors. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
}

/** Yields the bytes of the source and measures them. Errors of the source are thrown as SourceError. */
export async function* fromSource(
  bytes: AsyncIterable<Uint8Array>,
  meter: Meter,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of bytes) {
      meter.add(chunk);
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof SizeLimitError) throw cause;
    throw new SourceError('the upload failed', { cause });
  }
}
