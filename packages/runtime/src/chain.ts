/** The place of a value in a chain. */
export class Link<T> {
  /** Undefined once it was removed. */
  value: T | undefined;
  before: Link<T> = this;
  after: Link<T> = this;

  constructor(value: T | undefined) {
    this.value = value;
  }

  /** Harmless when called again. */
  remove(): void {
    this.before.after = this.after;
    this.after.before = this.before;
    this.value = undefined;
    this.before = this.after = this;
  }
}

/**
 * Values that come and go, oldest first.
 *
 * A Set or Map would keep each of them in memory for much longer. When V8 moves the entries to a new table, the old table still references
 * them; and once a table is in the old generation, all tables after it are, where only a full collection removes them. Under load, two
 * thirds of the bytes that survived the collections of young objects were calls and requests that had ended.
 */
export class Chain<T> {
  /** Is before the oldest one and after the newest one. */
  readonly #end = new Link<T>(undefined);

  get oldest(): T | undefined {
    return this.#end.after.value;
  }

  /** All values at the time of the call. */
  get values(): T[] {
    const values: T[] = [];
    for (let link = this.#end.after; link.value !== undefined; link = link.after) values.push(link.value);
    return values;
  }

  /** Adds a value as the newest one. */
  add(value: T): Link<T> {
    const link = new Link<T>(value);
    link.before = this.#end.before;
    link.after = this.#end;
    link.before.after = this.#end.before = link;
    return link;
  }
}
