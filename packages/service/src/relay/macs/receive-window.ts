import type { FrameMemory } from './frame-memory.ts';

/** Maximum unacknowledged frames per Mac. */
export const WINDOW = 64;

/**
 * The frames of a Mac that are not acknowledged, at most `WINDOW` and as many bytes as `FrameMemory` has room for. Once a frame was left
 * out or not delivered, no later frame is accepted: it would overtake the earlier one (I5). The Mac sends the frames again after a
 * reconnect.
 */
export class ReceiveWindow {
  readonly #memory: FrameMemory;
  readonly #licenseId: string;
  #frames = 0;
  #bytes = 0;
  #mustResend = false;

  constructor(memory: FrameMemory, licenseId: string) {
    this.#memory = memory;
    this.#licenseId = licenseId;
  }

  get isEmpty(): boolean {
    return this.#frames === 0;
  }

  /** Whether the Mac has to reconnect, to send frames again. */
  get mustResend(): boolean {
    return this.#mustResend;
  }

  /** Adds a frame. `left_out`: the Mac will send it again. `exceeded`: the Mac sent more than it may. */
  take(bytes: number): 'taken' | 'left_out' | 'exceeded' {
    if (this.#mustResend) return 'left_out';
    if (this.#frames >= WINDOW) return 'exceeded';
    if (!this.#memory.take(this.#licenseId, this.#bytes, bytes)) {
      this.#mustResend = true;
      return 'left_out';
    }
    this.#frames++;
    this.#bytes += bytes;
    return 'taken';
  }

  /** A frame is acknowledged. Its memory is in use until `release`. */
  acknowledged(): void {
    this.#frames--;
  }

  notDelivered(): void {
    this.#mustResend = true;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
    this.#memory.release(this.#licenseId, bytes);
  }
}
