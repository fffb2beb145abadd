import type { SendFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';
import { LinkedList } from '@footbridge/runtime/linked-list';
import type { ListNode } from '@footbridge/runtime/linked-list';

/** Why a frame was given up before its Mac confirmed it. `moved`: its location belongs to another license now. */
export type DropReason = 'expired' | 'full' | 'moved' | 'shutdown';

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
  /** The license of the Mac that it was written to. Undefined if a node of an earlier version wrote it. */
  readonly licenseId: string | undefined;
  readonly addedAt: number;
  /** False once it was confirmed or given up. */
  isOpen: boolean;
  /** Whether other nodes have copies of it. */
  isCopied: boolean;
  /** Its node in the list of those without copies. */
  uncopiedNode: ListNode<LedgerEntry> | undefined;
  /** Whether this node has repeated the frame. */
  isRepeated: boolean;
}

/** An entry on its way to another node. */
export interface HandedFrame {
  readonly frame: SendFrame;
  readonly bytes: number;
  readonly ageMs: number;
  readonly licenseId?: string;
  /** Present when other nodes have copies of it. */
  readonly isCopied?: true;
}

/**
 * The `send` frames of this node that no Mac has confirmed, in memory only (M10). They belong to a device at a location, not to its
 * connection: when the device comes back, it gets the frames again, in order. No other device gets them. Device ids are unique only within
 * a license, so a device of another license gets none of them either (M8). Frames are bounded per Mac, over all Macs and in time. Beyond a
 * bound the oldest frames are given up. Beyond the bound over all Macs, the Mac with the most frames loses its oldest, so that no tenant
 * loses frames because of another.
 */
export class SendLedger {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #limits: LedgerLimits;
  readonly #onDrop: SendLedgerDeps['onDrop'];
  readonly #macs = new Map<string, MacLedger>();
  /** The frames that no other node has a copy of, in the order in which they came. */
  readonly #uncopied = new LinkedList<LedgerEntry>();
  #confirmedCopies: LedgerEntry[] = [];
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

  /** The frames of a device, for one connection of the device. The connection calls `close` when it ends. */
  open(locationId: string, deviceId: string): MacLedger {
    const mac = this.#mac(locationId, deviceId);
    mac.connections++;
    return mac;
  }

  /** A Mac of this license has bound the location. Gives up the frames that were written to a Mac of another license. */
  bound(mac: MacLedger, licenseId: string): void {
    mac.licenseId = licenseId;
    const others = mac.entries.filter((entry) => isOfOther(mac, entry.licenseId));
    for (const entry of others) this.#drop(entry, 'moved');
  }

  close(mac: MacLedger): void {
    mac.connections--;
    this.#forgetIfUnused(mac);
  }

  /** The frame was written to a socket of the device. */
  add(mac: MacLedger, frame: SendFrame, bytes: number): void {
    const { licenseId } = mac;
    this.#insert(mac, { frame, bytes, licenseId, addedAt: this.#clock.monotonic(), isCopied: false });
    this.#trim(mac);
  }

  /** The Mac has the frame. Returns false when the frame was not waiting for a confirmation, which is harmless. */
  confirm(mac: MacLedger, requestId: string): boolean {
    const entry = mac.find(requestId);
    if (entry === undefined) return false;
    this.#remove(entry);
    if (entry.isCopied) this.#confirmedCopies.push(entry);
    return true;
  }

  hasUnconfirmed(locationId: string, deviceId: string): boolean {
    return (this.find(locationId, deviceId)?.entries.length ?? 0) > 0;
  }

  /** Returns the frames for another node, oldest first. They stay here until `forget`. */
  handOver(locationId: string, deviceId: string): HandedFrame[] {
    const entries = [...(this.find(locationId, deviceId)?.entries ?? [])];
    const frames = this.handedFrames(entries);
    // The other node has them now, and makes the copies.
    for (const entry of entries) this.setCopied(entry, true);
    return frames;
  }

  handedFrames(entries: readonly LedgerEntry[]): HandedFrame[] {
    const now = this.#clock.monotonic();
    return entries.map(({ frame, bytes, licenseId, addedAt, isCopied }) => ({
      frame,
      bytes,
      ageMs: now - addedAt,
      ...(licenseId !== undefined && { licenseId }),
      ...(isCopied && { isCopied }),
    }));
  }

  hasCopies(locationId: string, deviceId: string): boolean {
    return (this.find(locationId, deviceId)?.copied ?? 0) > 0;
  }

  find(locationId: string, deviceId: string): MacLedger | undefined {
    return this.#macs.get(nameOf(locationId, deviceId));
  }

  /** Returns the Macs with a frame that has no copy and has been unconfirmed for this long. */
  macsWithoutCopies(ms: number): ReadonlySet<MacLedger> {
    const before = this.#clock.monotonic() - ms;
    const macs = new Set<MacLedger>();
    if ((this.#uncopied.oldest?.addedAt ?? Infinity) > before) return macs;
    for (const { mac, addedAt } of this.#uncopied.toArray()) if (addedAt <= before) macs.add(mac);
    return macs;
  }

  setCopied(entry: LedgerEntry, isCopied: boolean): void {
    if (!entry.isOpen || entry.isCopied === isCopied) return;
    entry.isCopied = isCopied;
    entry.mac.copied += isCopied ? 1 : -1;
    if (isCopied) entry.uncopiedNode?.remove();
    else entry.uncopiedNode = this.#uncopied.add(entry);
  }

  /** Returns the frames with copies that were confirmed since the last call. */
  takeConfirmedCopies(): LedgerEntry[] {
    const confirmed = this.#confirmedCopies;
    if (confirmed.length > 0) this.#confirmedCopies = [];
    return confirmed;
  }

  /** Another node has these frames now. The device may be back, with newer frames that only this node has. */
  forget(locationId: string, deviceId: string, requestIds: readonly string[]): void {
    const mac = this.find(locationId, deviceId);
    if (mac === undefined) return;
    for (const requestId of requestIds) {
      const entry = mac.find(requestId);
      if (entry !== undefined) this.#remove(entry);
    }
    this.#forgetIfUnused(mac);
  }

  /**
   * Takes the frames of other nodes, which are older than all frames added here since the device connected. Returns the frames that were
   * not here before.
   */
  adopt(locationId: string, deviceId: string, frames: readonly HandedFrame[]): LedgerEntry[] {
    const mac = this.#mac(locationId, deviceId);
    const newerCount = mac.entries.length;
    const adopted = this.#insertHanded(mac, frames);
    // The newer ones go behind the adopted ones.
    mac.entries.push(...mac.entries.splice(0, newerCount));
    this.#trim(mac);
    this.#forgetIfUnused(mac);
    return adopted;
  }

  /** Takes copies of frames of another node, which are newer than its earlier copies. */
  append(locationId: string, deviceId: string, frames: readonly HandedFrame[]): void {
    const mac = this.#mac(locationId, deviceId);
    this.#insertHanded(mac, frames);
    this.#trim(mac);
    this.#forgetIfUnused(mac);
  }

  /** Every device with unconfirmed frames. */
  *devices(): Iterable<{ readonly locationId: string; readonly deviceId: string }> {
    for (const { entries, locationId, deviceId } of this.#macs.values())
      if (entries.length > 0) yield { locationId, deviceId };
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

  #all(): LedgerEntry[] {
    return [...this.#macs.values()].flatMap(({ entries }) => entries);
  }

  #mac(locationId: string, deviceId: string): MacLedger {
    const name = nameOf(locationId, deviceId);
    const known = this.#macs.get(name) ?? new MacLedger(locationId, deviceId);
    this.#macs.set(name, known);
    return known;
  }

  /** Returns the entries of the frames that were not here before. */
  #insertHanded(mac: MacLedger, frames: readonly HandedFrame[]): LedgerEntry[] {
    const now = this.#clock.monotonic();
    const inserted: LedgerEntry[] = [];
    for (const { frame, bytes, ageMs, licenseId, isCopied = false } of frames)
      if (isOfOther(mac, licenseId)) this.#onDrop(frame.requestId, 'moved');
      else if (mac.find(frame.requestId) === undefined)
        inserted.push(this.#insert(mac, { frame, bytes, licenseId, addedAt: now - ageMs, isCopied }));
    return inserted;
  }

  #insert(
    mac: MacLedger,
    {
      frame,
      bytes,
      licenseId,
      addedAt,
      isCopied,
    }: Pick<LedgerEntry, 'frame' | 'bytes' | 'licenseId' | 'addedAt' | 'isCopied'>,
  ): LedgerEntry {
    const entry: LedgerEntry = {
      frame,
      bytes,
      mac,
      licenseId,
      addedAt,
      isOpen: true,
      isCopied,
      uncopiedNode: undefined,
      isRepeated: false,
    };
    mac.entries.push(entry);
    if (isCopied) mac.copied++;
    else entry.uncopiedNode = this.#uncopied.add(entry);
    mac.bytes += bytes;
    this.#bytes += bytes;
    this.#frames++;
    return entry;
  }

  #remove(entry: LedgerEntry): void {
    if (!entry.isOpen) return;
    const { mac, bytes } = entry;
    entry.isOpen = false;
    mac.entries.splice(mac.entries.indexOf(entry), 1);
    if (entry.isCopied) mac.copied--;
    else entry.uncopiedNode?.remove();
    mac.bytes -= bytes;
    this.#bytes -= bytes;
    this.#frames--;
  }

  #trim(mac: MacLedger): void {
    const { maxFrames, maxBytes, maxTotalBytes } = this.#limits;
    while (mac.entries.length > maxFrames || mac.bytes > maxBytes) this.#dropOldest(mac);
    while (this.#bytes > maxTotalBytes) this.#dropOldest(this.#largest(mac));
  }

  #largest(mac: MacLedger): MacLedger {
    let largest = mac;
    for (const other of this.#macs.values()) if (other.bytes > largest.bytes) largest = other;
    return largest;
  }

  #dropOldest({ entries }: MacLedger): void {
    const [oldest] = entries;
    if (oldest !== undefined) this.#drop(oldest, 'full');
  }

  #drop(entry: LedgerEntry, reason: DropReason): void {
    this.#remove(entry);
    this.#forgetIfUnused(entry.mac);
    this.#onDrop(entry.frame.requestId, reason);
  }

  #forgetIfUnused(mac: MacLedger): void {
    if (mac.connections === 0 && mac.entries.length === 0)
      this.#macs.delete(nameOf(mac.locationId, mac.deviceId));
  }
}

/** The unconfirmed frames of one device at one location, oldest first. Only `SendLedger` changes it. */
export class MacLedger {
  readonly locationId: string;
  readonly deviceId: string;
  /** The license of the device that bound the location last, at this node. */
  licenseId: string | undefined;
  /** Oldest first. */
  readonly entries: LedgerEntry[] = [];
  /** How many of them have copies on other nodes. */
  copied = 0;
  bytes = 0;
  connections = 0;

  constructor(locationId: string, deviceId: string) {
    this.locationId = locationId;
    this.deviceId = deviceId;
  }

  /** A linear search: Macs confirm in order, so the match is usually the first entry. */
  find(requestId: string): LedgerEntry | undefined {
    return this.entries.find(({ frame }) => frame.requestId === requestId);
  }
}

export const requestIdsOf = (frames: readonly HandedFrame[]): string[] =>
  frames.map(({ frame }) => frame.requestId);

const isOfOther = (mac: MacLedger, licenseId: string | undefined): boolean =>
  mac.licenseId !== undefined && licenseId !== undefined && licenseId !== mac.licenseId;

/** A device id contains no space. */
const nameOf = (locationId: string, deviceId: string): string => `${locationId} ${deviceId}`;
