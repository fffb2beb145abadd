import type { Clock } from '../../clock.ts';

/** What can be closed with a code and a reason. */
interface Closable {
  close(code: number, reason: string): void;
}

const STEP_MS = 10;
const PER_STEP = 50;

/**
 * Closes sockets a few at a time. A license with thousands of Macs that is suspended, or a node that stops, would
 * otherwise block the event loop for half a second.
 */
export class PacedClosing {
  readonly #clock: Clock;
  readonly #queue: { socket: Closable; code: number; reason: string }[] = [];
  #perStep = PER_STEP;
  #left = PER_STEP;
  #ticking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  close(socket: Closable, code: number, reason: string): void {
    if (this.#left > 0) {
      this.#left--;
      socket.close(code, reason);
    } else {
      this.#queue.push({ socket, code, reason });
    }
    this.#tick();
  }

  /** From now on `count` sockets are closed over about `ms`, so that they do not all come back at once either. */
  spread(count: number, ms: number): void {
    this.#perStep = Math.min(PER_STEP, Math.max(1, Math.ceil((count * STEP_MS) / ms)));
    this.#left = Math.min(this.#left, this.#perStep);
  }

  #tick(): void {
    if (this.#ticking) return;
    this.#ticking = true;
    this.#clock.after(STEP_MS, () => {
      this.#ticking = false;
      this.#left = this.#perStep;
      for (const { socket, code, reason } of this.#queue.splice(0, this.#perStep)) {
        this.#left--;
        socket.close(code, reason);
      }
      if (this.#queue.length > 0) this.#tick();
    });
  }
}
