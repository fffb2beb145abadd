import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { CopyNotice, CopyRequest, MacName } from './bus.ts';
import type { NodeBus } from './node-bus-redis.ts';
import { LEDGER_LIMITS, SendLedger, requestIdsOf } from './send-ledger.ts';
import type { HandedFrame, MacLedger } from './send-ledger.ts';

/**
 * A frame that stays unconfirmed for this long may be on a dead link. Confirmations take milliseconds (see `UNCONFIRMED_MS`) plus the
 * round trip to the Mac, so few frames are copied in normal operation: a copy costs more than routing the frame.
 */
export const COPY_AFTER_MS = 200;
const RETRY_MS = 1000;
const COPY_LIMITS = { ...LEDGER_LIMITS, maxTotalBytes: LEDGER_LIMITS.maxTotalBytes / 2 };

export interface FrameCopiesDeps {
  readonly bus: Pick<NodeBus, 'copy' | 'copyAll' | 'requestCopies' | 'confirmed'>;
  /** The frames that this node has written. */
  readonly ledger: SendLedger;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
  /** Called with the number of frames that were copied to the other nodes. */
  readonly onCopied: (frames: number) => void;
}

/**
 * Copies of unconfirmed frames in the memory of all other nodes, because the ledger of a killed node is lost (M10). A copy that outlives
 * the confirmation, because a notice was lost, causes only a repeat that the Mac recognises.
 */
export class FrameCopies {
  readonly #deps: FrameCopiesDeps;
  readonly #copies: SendLedger;
  #retryAt = -Infinity;

  constructor(deps: FrameCopiesDeps) {
    this.#deps = deps;
    // The node that wrote a frame records that it was given up.
    this.#copies = new SendLedger({ clock: deps.clock, limits: COPY_LIMITS, onDrop: () => {} });
  }

  /**
   * Called when a frame was written to the device. While the link is in doubt, the copy is sent before the webhook is answered: this node
   * publishes it before the result of the write.
   */
  written({ locationId, deviceId }: MacName): void {
    const mac = this.#deps.ledger.find(locationId, deviceId);
    if (mac !== undefined && mac.copied > 0) void this.#copy(mac);
  }

  tick(): void {
    this.announceConfirmed();
    for (const mac of this.#deps.ledger.macsWithoutCopies(COPY_AFTER_MS)) void this.#copy(mac);
  }

  /** Tells the other nodes which copies they can forget. */
  announceConfirmed(): void {
    const { ledger, bus } = this.#deps;
    const confirmed = Map.groupBy(ledger.takeConfirmedCopies(), ({ mac }) => mac);
    for (const [{ locationId, deviceId }, entries] of confirmed)
      bus.confirmed(
        { locationId, deviceId },
        entries.map(({ frame }) => frame.requestId),
      );
  }

  expire(): void {
    this.#copies.expire();
  }

  /** Returns the copies of frames of other nodes, oldest first. */
  of({ locationId, deviceId }: MacName): HandedFrame[] {
    return this.#copies.handOver(locationId, deviceId);
  }

  /** Returns the copies and forgets them: the device is now connected to this node. */
  take(mac: MacName): HandedFrame[] {
    const frames = this.of(mac);
    this.forget(mac, requestIdsOf(frames));
    return frames;
  }

  has({ locationId, deviceId }: MacName): boolean {
    return this.#copies.hasUnconfirmed(locationId, deviceId);
  }

  forget({ locationId, deviceId }: MacName, requestIds: readonly string[]): void {
    this.#copies.forget(locationId, deviceId, requestIds);
  }

  /** Called when another node has frames of the device. This node may have been cut off, or not running, when they were copied. */
  onKept(from: string, { locationId, deviceId }: MacName): void {
    if (!this.has({ locationId, deviceId })) this.#deps.bus.requestCopies(from, { locationId, deviceId });
  }

  onCopyRequest({ from, locationId, deviceId }: CopyRequest): void {
    const { bus, ledger } = this.#deps;
    const entries = ledger.find(locationId, deviceId)?.entries ?? [];
    if (entries.length > 0) bus.copyAll(from, { locationId, deviceId }, ledger.handedFrames(entries));
  }

  onCopy({ locationId, deviceId, frames, isFirst = false }: CopyNotice): void {
    if (isFirst) this.take({ locationId, deviceId });
    const copies = frames.map((copy) => ({ ...copy, isCopied: true as const }));
    this.#copies.append(locationId, deviceId, copies);
  }

  /** Never rejects: frames that could not be copied are copied later. */
  async #copy(mac: MacLedger): Promise<void> {
    const { bus, ledger, clock, log, onCopied } = this.#deps;
    if (clock.monotonic() < this.#retryAt) return;
    const entries = mac.entries.filter(({ isCopied }) => !isCopied);
    if (entries.length === 0) return;
    const { locationId, deviceId } = mac;
    const frames = ledger.handedFrames(entries);
    for (const entry of entries) ledger.setCopied(entry, true);
    try {
      await bus.copy({ locationId, deviceId }, frames);
      onCopied(entries.length);
    } catch (error) {
      this.#retryAt = clock.monotonic() + RETRY_MS;
      for (const entry of entries) ledger.setCopied(entry, false);
      log.debug(
        { event: 'switchboard.copy_failed', err: error, locationId, frames: entries.length },
        'unconfirmed frames not copied to the other nodes',
      );
    }
  }
}
