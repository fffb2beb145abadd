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
