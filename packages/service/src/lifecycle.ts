type Undo = () => void | Promise<void>;

/** Whatever is opened registers its undo here; closing runs them newest first, each once, whatever the others do. */
export class Lifecycle {
  #undos: { name: string; undo: Undo }[] = [];
  #closing: Promise<void> | undefined;
  #onError: (name: string, error: unknown) => void;

  constructor(onError: (name: string, error: unknown) => void) {
    this.#onError = onError;
  }

  add(name: string, undo: Undo): void {
    this.#undos.push({ name, undo });
  }

  /** Closing twice is harmless: both callers wait for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (let next = this.#undos.pop(); next !== undefined; next = this.#undos.pop()) {
      try {
        await next.undo();
      } catch (error) {
        this.#onError(next.name, error);
      }
    }
  }
}
