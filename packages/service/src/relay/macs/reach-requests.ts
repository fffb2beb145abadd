/** The oldest ones have timed out by then. */
export const MAX_REACH_REQUESTS = 64;

/** The `reach_request` frames to which a Mac may reply. */
export class ReachRequests {
  readonly #requestIds = new Set<string>();

  add(requestId: string): void {
    this.#requestIds.add(requestId);
    const [oldest] = this.#requestIds;
    if (this.#requestIds.size > MAX_REACH_REQUESTS && oldest !== undefined) this.#requestIds.delete(oldest);
  }

  /** Returns false when the Mac was not asked, or has replied before. */
  replied(requestId: string): boolean {
    return this.#requestIds.delete(requestId);
  }
}
