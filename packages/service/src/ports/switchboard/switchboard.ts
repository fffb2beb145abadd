import type { RedeliverFrame, SendFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';

/** What travels to a Mac on behalf of others. Acks stay between a session and its Mac. */
export type LineFrame = SendFrame | RedeliverFrame;

/** The socket of a Mac as the switchboard uses it. Lives on this node. */
export interface Line {
  readonly sessionId: string;
  readonly deviceId: string;
  /** Puts the frame on the socket at once, or says that the Mac reads too slowly. Must not throw. */
  write(frame: LineFrame, epoch: number): 'written' | 'overloaded';
  /** This line lost the location. Called at most once, after which `write` is never called again. */
  cut(reason: CutReason): void;
}

/** `displaced`: another Mac took the location. `resumed`: the same device came back on a new line. `fenced`: the lease could not be kept. `closed`: the operator said so. */
export type CutReason = 'displaced' | 'resumed' | 'fenced' | 'closed';

/** Proof of owning a location. Whatever acts for the location carries it; the newest epoch wins. */
export interface Lease {
  readonly locationId: LocationId;
  readonly deviceId: string;
  readonly sessionId: string;
  readonly epoch: number;
}

export type BindOutcome =
  | { readonly kind: 'bound'; readonly lease: Lease; readonly displaced: boolean }
  /** Macs fight for the location: the challenger waits, the incumbent stays. */
  | { readonly kind: 'contended'; readonly waitSec: number };

/** How many displacements of one location are let through within a window before challengers have to wait. */
export interface Contention {
  readonly displacements: number;
  readonly windowMs: number;
}

export const CONTENTION: Contention = { displacements: 3, windowMs: 60_000 };

const LONGEST_WAIT_SEC = 120;

/** Every refusal of the same fight doubles the wait. */
export function contendedWaitSec(refusals: number): number {
  return Math.min(LONGEST_WAIT_SEC, 2 ** refusals);
}

export type SendOutcome = 'written' | 'not_connected';

export interface Occupant {
  readonly locationId: LocationId;
  readonly deviceId: string;
  readonly sessionId: string;
  readonly epoch: number;
  readonly since: number;
  /** The node that holds the socket. */
  readonly node: string;
}

/**
 * One owner per location, by number.
 *
 * - `bind` takes the location for a line. Epochs of a location only grow, also over restarts of the engine. The former line is cut
 *   (`displaced`, or `resumed` when the device is the same), but nothing depends on that notice arriving: its epoch is stale at once.
 * - A displacement beyond `Contention` is refused; a fight is over once a window passes without any. A device that comes back is never refused.
 * - `send` answers `written` only when the frame is on the socket of the current owner; `not_connected` when there is no owner or it could not take the frame.
 *   A frame is written at most once and never queued. When nobody can tell whether it was written it rejects with EngineError.
 * - `isCurrent` tells whether a lease is still the newest, as far as this node can know without asking; `confirm` asks the engine, to be done
 *   right before an effect that others see.
 * - `release` gives the location up if the lease is still current; harmless otherwise.
 * - When the engine is down, `bind`, `send` and `confirm` reject with EngineError, but a line of this node is written to as long as its lease
 *   lasts and the engine is known to be down for everybody; a node that may be cut off alone writes nothing. A line that cannot be kept is cut with `fenced`.
 */
export interface Switchboard {
  bind(locationId: LocationId, line: Line): Promise<BindOutcome>;
  send(locationId: LocationId, frame: LineFrame): Promise<SendOutcome>;
  isCurrent(lease: Lease): boolean;
  confirm(lease: Lease): Promise<boolean>;
  release(lease: Lease): Promise<void>;
  /** Cuts whoever holds the location, on any node. */
  disconnect(locationId: LocationId): Promise<void>;
  /** Who is connected, over all nodes. */
  occupants(): Promise<Occupant[]>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
