/** Provides an abort signal, which may be created on demand: read it only before a wait. An AbortController also has this shape. */
export interface SignalSource {
  readonly signal: AbortSignal;
}

/** An AbortController whose signal is created only when a wait needs it: every status has two, and few of them ever wait. */
export class Cancellation implements SignalSource {
  #isCancelled = false;
  #controller: AbortController | undefined;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isCancelled) this.#controller.abort();
    return this.#controller.signal;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#controller?.abort();
  }
}
