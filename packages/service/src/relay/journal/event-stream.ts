import type { ServerResponse } from 'node:http';

import type { Clock } from '@footbridge/runtime/clock';

/** Events within this time are written together, because a write costs more than an event. */
export const BATCH_MS = 100;
const MAX_BATCH = 65_536;
const MAX_UNREAD = 1_000_000;

/**
 * The response to one client that follows events. Events are written in batches; after a pause, the first batch is written on the next turn
 * of the event loop. A client that does not read gets no more events. It is disconnected when too many are queued.
 */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #clock: Pick<Clock, 'after'>;
  #waiting = '';
  /** The client has not read the data written so far. */
  #isBlocked = false;
  /** Set while a batch is collected, and for `BATCH_MS` after each write. */
  #cancelBatch: (() => void) | undefined;

  constructor(response: ServerResponse, clock: Pick<Clock, 'after'>) {
    this.#response = response;
    this.#clock = clock;
    response.on('drain', () => {
      this.#isBlocked = false;
      this.#write();
    });
    response.once('close', () => this.#cancelBatch?.());
  }

  send(text: string): void {
    this.#waiting += text;
    if (this.#isBlocked) {
      if (this.#waiting.length > MAX_UNREAD) this.#response.destroy();
    } else if (this.#waiting.length >= MAX_BATCH) this.#write();
    else if (this.#cancelBatch === undefined) {
      const soon = setImmediate(() => this.#write());
      this.#cancelBatch = () => clearImmediate(soon);
    }
  }

  #write(): void {
    this.#cancelBatch?.();
    this.#cancelBatch = undefined;
    const { writableEnded, destroyed } = this.#response;
    if (this.#waiting === '' || this.#isBlocked || writableEnded || destroyed) return;
    this.#isBlocked = !this.#response.write(this.#waiting);
    this.#waiting = '';
    this.#cancelBatch = this.#clock.after(BATCH_MS, () => this.#write());
  }
}
