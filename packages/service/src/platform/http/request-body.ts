import type { IncomingMessage, ServerResponse } from 'node:http';

/** Smaller bodies are not counted: real webhooks have a few kilobytes, and the slots bound their number. */
const MIN_COUNTED = 16_384;

/** Bounds the memory of large bodies that are read at the same time, before anything about their senders is known. */
export class BodyMemory {
  readonly #maxBytes: number;
  readonly #bodies = new Map<IncomingMessage, number>();
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Notes the size of a body so far. Over the limit, the largest incomplete body is dropped with its connection. */
  grow(request: IncomingMessage, response: ServerResponse, size: number): void {
    if (size < MIN_COUNTED) return;
    const before = this.#bodies.get(request);
    if (before === undefined) response.once('close', () => this.#release(request));
    this.#bodies.set(request, size);
    this.#held += size - (before ?? 0);
    if (this.#held > this.#maxBytes) this.#dropLargest();
  }

  #dropLargest(): void {
    let largest: IncomingMessage | undefined;
    for (const [request, size] of this.#bodies)
      if (!request.complete && size > (largest === undefined ? 0 : (this.#bodies.get(largest) ?? 0)))
        largest = request;
    if (largest === undefined) return;
    this.#release(largest);
    largest.destroy();
  }

  #release(request: IncomingMessage): void {
    this.#held -= this.#bodies.get(request) ?? 0;
    this.#bodies.delete(request);
  }
}

/** A body may have this many parts of any size. With more, their average size must be at least `MIN_AVERAGE_BYTES`. */
const MAX_SMALL_PARTS = 256;
const MIN_AVERAGE_BYTES = 256;
/** A smaller body cannot have enough parts to matter. */
const MIN_CHECKED_LENGTH = 65_536;

/**
 * Disconnects a client that sends its body in tiny parts (T28). Each part costs an event and an object, whatever its size: a megabyte in
 * one-byte chunks takes seconds of CPU time and more than a hundred megabytes of memory, before the client is authenticated.
 */
export function boundBodyParts(request: IncomingMessage): void {
  const { headers } = request;
  const isChecked =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length']) >= MIN_CHECKED_LENGTH;
  if (!isChecked) return;
  let [parts, bytes, isCut] = [0, 0, false];
  const push = request.push.bind(request);
  // Node's HTTP parser calls `push` for each part, before any reader sees the part.
  request.push = (part: unknown, encoding?: BufferEncoding) => {
    if (Buffer.isBuffer(part)) {
      parts++;
      bytes += part.length;
    }
    if (parts > MAX_SMALL_PARTS && bytes < parts * MIN_AVERAGE_BYTES && !isCut) {
      isCut = true;
      request.socket.destroy();
    }
    // The end of a cut body is not passed on either: the parts before the cut would look like a complete body.
    return isCut ? false : push(part, encoding);
  };
}
