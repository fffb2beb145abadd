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
