import type { Log } from '@footbridge/runtime/log';

/**
 * Something that happens in a room. Its listeners are called at once, in no particular order. They decide nothing: a room behaves the same
 * without them, and when one of them fails.
 */
export class Occurrence<What extends readonly unknown[]> {
  readonly #listeners: ((...what: What) => void)[] = [];
  readonly #name: string;
  readonly #log: Log;

  constructor(name: string, log: Log) {
    this.#name = name;
    this.#log = log;
  }

  listen(listener: (...what: What) => void): void {
    this.#listeners.push(listener);
  }

  happened(...what: What): void {
    for (const listener of this.#listeners) {
      try {
        listener(...what);
      } catch (error) {
        this.#log.error(
          { event: 'service.listener_failed', of: this.#name, err: error },
          'a listener failed; what it listens to went on',
        );
      }
    }
  }
}
