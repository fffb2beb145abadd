/** A Mac that owes the service a confirmation. */
export interface Confirming {
  /** Grows with everything that the Mac sends, pongs included. */
  readonly signsOfLife: number;
  readonly hasUnconfirmed: boolean;
  /** Sends a ping outside the heartbeat. */
  probe(): void;
  /** Called once when the Mac did not react to the ping. */
  silent(): void;
}

/**
 * A frame that is not confirmed for this long, without any other sign of life, makes the service ping. Measured with the agent and 450 requests
 * at once: at most 15 ms between two confirmations, and 180 ms on a machine with four times more work than cores.
 */
export const UNCONFIRMED_MS = 2000;
/** A Mac that does not react to that ping for this long is gone. A false alarm costs a reconnect, and no frame. */
export const PROBE_MS = 3000;

interface Watch {
  signsOfLife: number;
  since: number;
  probedAt: number | undefined;
  /** The ping is overdue. The next check decides: after a stall of this process, the pong may have arrived unread. */
  isOverdue: boolean;
}

const watchOf = (mac: Confirming, now: number): Watch => ({
  signsOfLife: mac.signsOfLife,
  since: now,
  probedAt: undefined,
  isOverdue: false,
});

/**
 * Finds Macs that are gone while their connection looks alive, for example after the lid was closed. It finds them long before two
 * heartbeats are missed, so that webhooks get 404 instead of a 200 for a text that no Mac gets.
 */
export class SilentMacs<Mac extends Confirming> {
  readonly #watched = new Map<Mac, Watch>();

  /** A frame was written to this Mac. */
  watch(mac: Mac, now: number): void {
    if (!this.#watched.has(mac)) this.#watched.set(mac, watchOf(mac, now));
  }

  forget(mac: Mac): void {
    this.#watched.delete(mac);
  }

  check(now: number): void {
    for (const [mac, watch] of this.#watched) {
      if (!mac.hasUnconfirmed) {
        this.#watched.delete(mac);
      } else if (mac.signsOfLife !== watch.signsOfLife) {
        this.#watched.set(mac, watchOf(mac, now));
      } else if (watch.isOverdue) {
        this.#watched.delete(mac);
        mac.silent();
      } else if (watch.probedAt !== undefined) {
        watch.isOverdue = now - watch.probedAt >= PROBE_MS;
      } else if (now - watch.since >= UNCONFIRMED_MS) {
        watch.probedAt = now;
        mac.probe();
      }
    }
  }
}
