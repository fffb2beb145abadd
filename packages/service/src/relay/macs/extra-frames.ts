export const MAX_EXTRA = { frames: 1000, bytes: 1_048_576 } as const;

/**
 * Bounds the frames outside the window that a Mac sends between two heartbeats: pings, pongs, `state`, frames of unknown types, and
 * confirmations and replies that the service does not wait for. A Mac must not keep the service busy with them.
 */
export class ExtraFrames {
  #frames = 0;
  #bytes = 0;

  /** Counts a frame. Returns false when there were too many. */
  add(bytes: number): boolean {
    this.#frames++;
    this.#bytes += bytes;
    return this.#frames <= MAX_EXTRA.frames && this.#bytes <= MAX_EXTRA.bytes;
  }

  /** A new heartbeat begins. */
  reset(): void {
    this.#frames = 0;
    this.#bytes = 0;
  }
}
