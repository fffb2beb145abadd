type Stop = () => void | Promise<void>;

/** Stops the parts that were started, newest first, each once. The others are stopped even if one fails. */
export class Lifecycle {
  readonly #started: { readonly name: string; readonly stop: Stop }[] = [];
  readonly #onError: (name: string, error: unknown) => void;
  readonly #onStopped: (name: string) => void;
  #closing: Promise<void> | undefined;
  #stopping: string | undefined;

  constructor(onError: (name: string, error: unknown) => void, onStopped: (name: string) => void = () => {}) {
    this.#onError = onError;
    this.#onStopped = onStopped;
  }

  /** Registers how to stop a part that was just started. */
  add(name: string, stop: Stop): void {
    this.#started.push({ name, stop });
  }

  /** A lifecycle within this one: its parts are stopped when its own turn comes, also those that are added to it later. */
  part(name: string): Lifecycle {
    const inner = new Lifecycle(this.#onError);
    this.add(name, () => inner.close());
    return inner;
  }

  /** The part that is being stopped. */
  get stopping(): string | undefined {
    return this.#stopping;
  }

  /** Idempotent: all callers wait for the same end. Never rejects. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (let next = this.#started.pop(); next !== undefined; next = this.#started.pop()) {
      this.#stopping = next.name;
      try {
        await next.stop();
        this.#onStopped(next.name);
      } catch (error) {
        this.#onError(next.name, error);
      }
    }
    this.#stopping = undefined;
  }
}
