import { createHash } from 'node:crypto';

/** Counts and hashes bytes on their way into an engine, and breaks off when they are too many. */
export class Meter {
  size = 0;
  readonly #hash = createHash('sha256');
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(chunk: Uint8Array): void {
    this.size += chunk.byteLength;
    if (this.size > this.#limit) throw new LimitPassed(this.#limit);
    this.#hash.update(chunk);
  }

  sha256(): string {
    return this.#hash.digest('hex');
  }
}

/** Leaves `Meter.add` to unwind an engine's writing; engines turn it into an outcome. */
export class LimitPassed extends Error {
  override readonly name = 'LimitPassed';
  constructor(limit: number) {
    super(`more than the ${limit} bytes allowed`);
  }
}

/** Marks a failure of the source, so that an engine can tell it from one of its own. */
export class SourceFailed extends Error {
  override readonly name = 'SourceFailed';
}

/** The same bytes, with the source's own failures told apart from the engine's. */
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
    if (cause instanceof LimitPassed) throw cause;
    throw new SourceFailed('the upload broke off', { cause });
  }
}
