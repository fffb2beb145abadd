import type { SendFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';

import type { LedgerEntry, MacLedger, SendLedger } from '../switchboard/send-ledger.ts';
import { Backlog } from './backlog.ts';
import type { RepeatTarget } from './backlog.ts';

export interface UnconfirmedSendsDeps {
  readonly ledger: SendLedger;
  readonly clock: Pick<Clock, 'after'>;
}

/**
 * The `send` frames that a connected Mac has not confirmed (M10). Frames of its earlier connections are written again before any newer
 * frame. The frames are in the ledger of the node, because they outlive the connection.
 */
export class UnconfirmedSends {
  readonly #mac: RepeatTarget;
  readonly #deps: UnconfirmedSendsDeps;
  readonly #sends: MacLedger;
  /** Present from the start until the frames of earlier connections are written, and while others arrive from other nodes. */
  #backlog: Backlog | undefined;

  constructor(mac: RepeatTarget, sends: MacLedger, deps: UnconfirmedSendsDeps) {
    this.#mac = mac;
    this.#sends = sends;
    this.#deps = deps;
    this.#backlog = this.#newBacklog();
  }

  get isEmpty(): boolean {
    return this.#sends.entries.length === 0;
  }

  /** Present while frames are written again: until it resolves, no newer frame may be written. Never rejects. */
  get ready(): Promise<void> | undefined {
    return this.#backlog?.ended;
  }

  /** A Mac of this license has bound the location. */
  bound(licenseId: string): void {
    this.#deps.ledger.bound(this.#sends, licenseId);
  }

  /** A frame of this size was written. */
  add(frame: SendFrame, bytes: number): void {
    this.#deps.ledger.add(this.#sends, frame, bytes);
  }

  /** Returns false when the Mac did not have to confirm this. */
  confirm(requestId: string): boolean {
    if (!this.#deps.ledger.confirm(this.#sends, requestId)) return false;
    this.#backlog?.write();
    return true;
  }

  /** The ledger has all frames that the device has not confirmed. Writes them to the Mac. */
  resume(): void {
    this.#backlog?.add(this.#sends.entries);
  }

  /** Writes frames that arrived late from another node. */
  repeat(entries: readonly LedgerEntry[]): void {
    // Until `resume` they are in the ledger only, where it finds them.
    if (this.#backlog?.isStarted === false) return;
    this.#backlog ??= this.#newBacklog();
    this.#backlog.add(entries);
  }

  /** Writes more of the frames, if the Mac has read enough. */
  writeMore(): void {
    this.#backlog?.write();
  }

  /** The connection ends. */
  close(): void {
    this.#backlog?.end();
    this.#deps.ledger.close(this.#sends);
  }

  #newBacklog(): Backlog {
    return new Backlog(this.#mac, this.#deps.clock, () => {
      this.#backlog = undefined;
    });
  }
}
