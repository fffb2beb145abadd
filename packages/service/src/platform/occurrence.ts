/**
 * Something that happens in a room. Its listeners are called at once, in no particular order. They decide nothing: a room behaves the same
 * without them.
 */
export class Occurrence<What extends readonly unknown[]> {
  readonly #listeners: ((...what: What) => void)[] = [];

  listen(listener: (...what: What) => void): void {
    this.#listeners.push(listener);
  }

  happened(...what: What): void {
    for (const listener of this.#listeners) listener(...what);
  }
}
