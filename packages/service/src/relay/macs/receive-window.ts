import { parseMacFrame } from '@footbridge/protocol/frames';
import type { MacFrame, Parsed } from '@footbridge/protocol/frames';
import { exceedsJsonLimits } from '@footbridge/protocol/json-size';

/** No known frame has that many objects, names or items. */
const JSON_LIMITS = { brackets: 4096, names: 4096, commas: 16_384 } as const;

/** Parses a frame sent by a Mac. An object that would take long to parse counts as one of an unknown type (T54). */
export function readMacFrame(data: Uint8Array, text: string): Parsed<MacFrame> {
  if (!exceedsJsonLimits(data, JSON_LIMITS)) return parseMacFrame(text);
  return text.trimStart().startsWith('{')
    ? { kind: 'unknown', type: '' }
    : { kind: 'invalid', reason: 'a frame must be one JSON object' };
}

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

/** A license takes at most this share of the free memory, so that other licenses have room. */
const SHARE_OF_FREE = 1 / 2;

export interface FrameLimits {
  /** Of one connection. */
  readonly perSession: number;
  /** Of all connections of this node. */
  readonly total: number;
}

/** Bounds the bytes of frames that Macs have sent and that are not acknowledged, while the CRM is slow (T53). */
export class FrameMemory {
  readonly #limits: FrameLimits;
  readonly #byLicense = new Map<string, number>();
  #held = 0;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** Counts a frame of a session that holds `sessionBytes` already. Returns false when there is no room for it. */
  take(licenseId: string, sessionBytes: number, bytes: number): boolean {
    const license = (this.#byLicense.get(licenseId) ?? 0) + bytes;
    const { perSession, total } = this.#limits;
    if (sessionBytes + bytes > perSession || license > (total - this.#held) * SHARE_OF_FREE) return false;
    this.#byLicense.set(licenseId, license);
    this.#held += bytes;
    return true;
  }

  release(licenseId: string, bytes: number): void {
    const left = (this.#byLicense.get(licenseId) ?? 0) - bytes;
    if (left > 0) this.#byLicense.set(licenseId, left);
    else this.#byLicense.delete(licenseId);
    this.#held -= bytes;
  }
}

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
