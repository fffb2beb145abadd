import type { Log } from '@footbridge/runtime/log';

/**
 * A place in a room that a feature fills: what must happen before the room goes on. It is filled at most once, while the service starts.
 * The room closes it, so what fills it is there until the last call of the room has ended.
 */
export class Slot<T> {
  readonly #name: string;
  readonly #unfilled: T | undefined;
  #filled: { readonly value: T; readonly close: () => void | Promise<void> } | undefined;

  /** Without a value for the unfilled slot, it must be filled. */
  constructor(name: string, unfilled?: T) {
    this.#name = name;
    this.#unfilled = unfilled;
  }

  fillWith(value: T, close: () => void | Promise<void> = () => {}): void {
    if (this.#filled !== undefined) throw new Error(`the slot ${this.#name} is filled twice`);
    this.#filled = { value, close };
  }

  get value(): T {
    const value = this.#filled?.value ?? this.#unfilled;
    if (value === undefined) throw new Error(`nothing fills the slot ${this.#name}`);
    return value;
  }

  async close(): Promise<void> {
    await this.#filled?.close();
  }
}

/** For tests: returns where the next listener goes, after `count` of them or among them. */
export type PlaceListener = (count: number) => number;

/**
 * Something that happens in a room. Its listeners are called at once, in no particular order. They decide nothing: a room behaves the same
 * without them, and when one of them fails.
 */
export class Occurrence<What extends readonly unknown[]> {
  readonly #listeners: ((...what: What) => void)[] = [];
  readonly #name: string;
  readonly #log: Log;
  readonly #place: PlaceListener;

  constructor(name: string, { log, placeListener }: { log: Log; placeListener?: PlaceListener | undefined }) {
    this.#name = name;
    this.#log = log;
    this.#place = placeListener ?? ((count) => count);
  }

  listen(listener: (...what: What) => void): void {
    this.#listeners.splice(this.#place(this.#listeners.length), 0, listener);
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
