import type { Clock } from '@footbridge/runtime/clock';

interface Closable {
  close(code: number, reason: string): void;
}

const STEP_MS = 10;
const PER_STEP = 50;

/** Closes sockets in small batches: closing thousands at once would block the event loop for half a second. */
export class PacedClosing {
  readonly #clock: Clock;
  readonly #queue: { socket: Closable; code: number; reason: string }[] = [];
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

  #tick(): void {
    if (this.#ticking) return;
    this.#ticking = true;
    this.#clock.after(STEP_MS, () => {
      this.#ticking = false;
      this.#left = PER_STEP;
      for (const { socket, code, reason } of this.#queue.splice(0, PER_STEP)) {
        this.#left--;
        socket.close(code, reason);
      }
      if (this.#queue.length > 0) this.#tick();
    });
  }
}
