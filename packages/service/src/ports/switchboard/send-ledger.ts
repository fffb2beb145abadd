import type { SendFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';

/** Why a frame was given up before its Mac confirmed it. */
export type DropReason = 'expired' | 'full' | 'shutdown';

export interface LedgerLimits {
  /** Per Mac. */
  readonly maxFrames: number;
  readonly maxBytes: number;
  /** Over all Macs of this node. */
  readonly maxTotalBytes: number;
  readonly maxAgeMs: number;
}

export const LEDGER_LIMITS: LedgerLimits = {
  maxFrames: 512,
  maxBytes: 8 * 1024 * 1024,
  maxTotalBytes: 128 * 1024 * 1024,
  maxAgeMs: 600_000,
};

export interface SendLedgerDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly limits?: LedgerLimits;
  /** Called for every frame that is given up. */
  readonly onDrop: (requestId: string, reason: DropReason) => void;
}

/** A `send` that its Mac has not confirmed. */
export interface LedgerEntry {
  readonly frame: SendFrame;
  readonly bytes: number;
  readonly mac: MacLedger;
  readonly addedAt: number;
  /** False once it was confirmed or given up. */
  isOpen: boolean;
}

/** An entry on its way to another node. */
export interface HandedFrame {
  readonly frame: SendFrame;
  readonly bytes: number;
  readonly ageMs: number;
}

/**
 * The `send` frames of this node that no Mac has confirmed, in memory only (M10). They belong to a device at a location, not to its
 * connection: when the device comes back it gets them again, in order, and no other device does. Bounded per Mac, over all Macs and in
 * time. Beyond a bound the oldest frames are given up; beyond that of all Macs those of the Mac that has the most, so that no tenant costs
 * another its frames.
 */
export class SendLedger {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #limits: LedgerLimits;
  readonly #onDrop: SendLedgerDeps['onDrop'];
  readonly #macs = new Map<string, MacLedger>();
  #frames = 0;
  #bytes = 0;

  constructor({ clock, limits = LEDGER_LIMITS, onDrop }: SendLedgerDeps) {
    this.#clock = clock;
    this.#limits = limits;
    this.#onDrop = onDrop;
  }

  /** Unconfirmed frames over all Macs. */
  get size(): number {
    return this.#frames;
  }

  /** The frames of a device, for a connection of it. The connection calls `close` on it when it ends. */
  open(locationId: string, deviceId: string): MacLedger {
    const mac = this.#mac(locationId, deviceId);
    mac.connections++;
    return mac;
  }

  close(mac: MacLedger): void {
    mac.connections--;
    this.#forgetIfUnused(mac);
  }

  /** The frame was written to a socket of the device. */
  add(mac: MacLedger, frame: SendFrame, bytes: number): void {
    this.#insert({ frame, bytes, mac, addedAt: this.#clock.monotonic(), isOpen: true });
    this.#trim(mac);
  }

  /** The Mac has the frame. Returns false when it was not waited for, which is harmless. */
  confirm(mac: MacLedger, requestId: string): boolean {
    const entry = mac.entries.get(requestId);
    if (entry === undefined) return false;
    this.#remove(entry);
    return true;
  }

  hasUnconfirmed(locationId: string, deviceId: string): boolean {
    return (this.#macs.get(nameOf(locationId, deviceId))?.entries.size ?? 0) > 0;
  }

  /** Returns copies for another node, oldest first. They stay here until `forget`. */
  handOver(locationId: string, deviceId: string): HandedFrame[] {
    const mac = this.#macs.get(nameOf(locationId, deviceId));
    const now = this.#clock.monotonic();
    return Array.from(mac?.entries.values() ?? [], ({ frame, bytes, addedAt }) => ({
      frame,
      bytes,
      ageMs: now - addedAt,
    }));
  }

  /** Another node has these frames now. The device may be back, with newer ones that only this node has. */
  forget(locationId: string, deviceId: string, requestIds: readonly string[]): void {
    const mac = this.#macs.get(nameOf(locationId, deviceId));
    if (mac === undefined) return;
    for (const requestId of requestIds) this.confirm(mac, requestId);
    this.#forgetIfUnused(mac);
  }

  /**
   * Takes the frames of another node. They are older than all that were added here since the device connected. Returns those that were
   * not here before.
   */
  adopt(locationId: string, deviceId: string, frames: readonly HandedFrame[]): LedgerEntry[] {
    const mac = this.#mac(locationId, deviceId);
    const newer = [...mac.entries.values()];
    mac.entries.clear();
    const now = this.#clock.monotonic();
    const known = new Set(newer.map(({ frame }) => frame.requestId));
    const adopted = frames
      .filter(({ frame }) => !known.has(frame.requestId))
      .map(({ frame, bytes, ageMs }) => ({ frame, bytes, mac, addedAt: now - ageMs, isOpen: true }));
    for (const entry of adopted) this.#insert(entry);
    for (const entry of newer) mac.entries.set(entry.frame.requestId, entry);
    this.#trim(mac);
    this.#forgetIfUnused(mac);
    return adopted;
  }

  /** Every device with unconfirmed frames. */
  *devices(): Iterable<{ readonly locationId: string; readonly deviceId: string }> {
    for (const { entries, locationId, deviceId } of this.#macs.values())
      if (entries.size > 0) yield { locationId, deviceId };
  }

  /** Gives up frames that are too old. */
  expire(): void {
    const before = this.#clock.monotonic() - this.#limits.maxAgeMs;
    for (const entry of this.#all()) if (entry.addedAt <= before) this.#drop(entry, 'expired');
  }

  /** Gives up all frames. */
  shutDown(): void {
    for (const entry of this.#all()) this.#drop(entry, 'shutdown');
  }

  *#all(): Iterable<LedgerEntry> {
    for (const { entries } of this.#macs.values()) yield* entries.values();
  }

  #mac(locationId: string, deviceId: string): MacLedger {
    const name = nameOf(locationId, deviceId);
    const known = this.#macs.get(name) ?? new MacLedger(locationId, deviceId);
    this.#macs.set(name, known);
    return known;
  }

  #insert(entry: LedgerEntry): void {
    const { mac, frame, bytes } = entry;
    mac.entries.set(frame.requestId, entry);
    mac.bytes += bytes;
    this.#bytes += bytes;
    this.#frames++;
  }

  #remove(entry: LedgerEntry): void {
    const { mac, frame, bytes } = entry;
    entry.isOpen = false;
    mac.entries.delete(frame.requestId);
    mac.bytes -= bytes;
    this.#bytes -= bytes;
    this.#frames--;
  }

  #trim(mac: MacLedger): void {
    const { maxFrames, maxBytes, maxTotalBytes } = this.#limits;
    while (mac.entries.size > maxFrames || mac.bytes > maxBytes) this.#dropOldest(mac);
    while (this.#bytes > maxTotalBytes) this.#dropOldest(this.#largest(mac));
  }

  #largest(mac: MacLedger): MacLedger {
    let largest = mac;
    for (const other of this.#macs.values()) if (other.bytes > largest.bytes) largest = other;
    return largest;
  }

  #dropOldest({ entries }: MacLedger): void {
    const { value } = entries.values().next();
    if (value !== undefined) this.#drop(value, 'full');
  }

  #drop(entry: LedgerEntry, reason: DropReason): void {
    this.#remove(entry);
    this.#forgetIfUnused(entry.mac);
    this.#onDrop(entry.frame.requestId, reason);
  }

  #forgetIfUnused(mac: MacLedger): void {
    if (mac.connections === 0 && mac.entries.size === 0)
      this.#macs.delete(nameOf(mac.locationId, mac.deviceId));
  }
}

/** The unconfirmed frames of one device at one location, oldest first. Only `SendLedger` changes it. */
export class MacLedger {
  readonly locationId: string;
  readonly deviceId: string;
  readonly entries = new Map<string, LedgerEntry>();
  bytes = 0;
  connections = 0;

  constructor(locationId: string, deviceId: string) {
    this.locationId = locationId;
    this.deviceId = deviceId;
  }
}

export const requestIdsOf = (frames: readonly HandedFrame[]): string[] =>
  frames.map(({ frame }) => frame.requestId);

/** A device id contains no space. */
const nameOf = (locationId: string, deviceId: string): string => `${locationId} ${deviceId}`;
