import type { Clock } from '@footbridge/runtime/clock';
import type { SendFrame } from '@footbridge/protocol/frames';

import type { LedgerEntry, MacLedger, SendLedger } from '../switchboard/send-ledger.ts';

/** The Mac that gets frames again. */
export interface RepeatTarget {
  /** Bytes that it has not read. */
  readonly unsent: number;
  writeAgain(entry: LedgerEntry): void;
}

/** Frames are written in batches of this size, so that a Mac that keeps reconnecting does not get all of them each time (T52). */
export const BATCH = 64;
export const PAUSE_MS = 50;
/** Frames are written as long as less than this is unsent. */
export const MAX_UNSENT_BYTES = 256 * 1024;

/**
 * Writes frames to a Mac again, in order, before any newer frame, and as fast as the Mac reads. Writes nothing until the first frames are
 * added. Ends when the last frame is written.
 */
export class Backlog {
  readonly #target: RepeatTarget;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #onEnd: () => void;
  readonly #ended = Promise.withResolvers<void>();
  /** Undefined until the first frames are added. */
  #entries: LedgerEntry[] | undefined;
  #isEnded = false;
  #cancelPause: (() => void) | undefined;

  constructor(target: RepeatTarget, clock: Pick<Clock, 'after'>, onEnd: () => void) {
    this.#target = target;
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /** Whether frames were added, so that more may follow them. */
  get isStarted(): boolean {
    return this.#entries !== undefined;
  }

  /** Resolves when the backlog ends. Never rejects. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  add(entries: readonly LedgerEntry[]): void {
    (this.#entries ??= []).push(...entries);
    this.write();
  }

  /** Writes the next batch, without frames that were confirmed in the meantime. Further batches follow after pauses. */
  write(): void {
    const entries = this.#entries;
    if (entries === undefined) return;
    this.#cancelPause?.();
    let left = BATCH;
    while (entries.length > 0 && left > 0 && this.#target.unsent < MAX_UNSENT_BYTES && !this.#isEnded) {
      const entry = entries.shift();
      if (entry?.isOpen !== true) continue;
      this.#target.writeAgain(entry);
      left--;
    }
    if (this.#isEnded) return;
    if (entries.length === 0) return this.end();
    this.#cancelPause = this.#clock.after(PAUSE_MS, () => this.write());
  }

  /** Writes no more frames. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cancelPause?.();
    this.#ended.resolve();
    this.#onEnd();
  }
}

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
