import type {
  ReachRequestFrame,
  ReachResultFrame,
  RedeliverFrame,
  SendFrame,
  StateFrame,
} from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';

import { EngineError } from '../../platform/errors.ts';
import type { LedgerEntry } from './send-ledger.ts';

/** The frames that the switchboard routes to a Mac. A session sends its acknowledgements itself. */
export type RoutedFrame = SendFrame | RedeliverFrame | ReachRequestFrame;

/** The socket of a Mac on this node, as the switchboard uses it. */
export interface MacConnection {
  readonly sessionId: string;
  readonly deviceId: string;
  /** The newest state that the Mac reported over this connection. */
  readonly stateReport?: StateReport | undefined;
  /**
   * Present while the device gets the frames again that it has not confirmed (M10): until it resolves, no newer frame may be written.
   * Never rejects.
   */
  readonly ready?: Promise<void> | undefined;
  /** Writes the frame to the socket synchronously. Returns `overloaded` when the Mac reads too slowly. Must not throw. */
  write(frame: RoutedFrame, epoch: number): 'written' | 'overloaded';
  /** The connection lost the location. Called at most once; `write` is not called afterwards. */
  disconnect(reason: DisconnectReason): void;
  /** Writes frames that arrived late from another node, before anything newer. */
  repeat(entries: readonly LedgerEntry[]): void;
}

export interface StateReport {
  /** When it arrived, by the clock of the node that holds the socket. */
  readonly at: number;
  readonly state: StateFrame;
}

/**
 * - `displaced`: another device bound the location.
 * - `resumed`: the same device bound the location over a new connection.
 * - `fenced`: the lease could not be renewed in time.
 * - `closed`: the operator disconnected the Mac.
 * - `moved`: the operator assigned the location to another license, or released it.
 */
export type DisconnectReason = 'displaced' | 'resumed' | 'fenced' | 'closed' | 'moved';

/** Ownership of a location. Every action for the location carries a lease; the lease with the highest epoch is valid. */
export interface Lease {
  readonly locationId: LocationId;
  readonly deviceId: string;
  readonly sessionId: string;
  readonly epoch: number;
}

export type BindOutcome =
  | {
      readonly kind: 'bound';
      readonly lease: Lease;
      readonly displaced: boolean;
      /**
       * Present when another node may hold frames that this device has not confirmed. Resolves once the frames are in the ledger of this
       * node, or are unavailable. Never rejects.
       */
      readonly unconfirmed?: Promise<void>;
    }
  /** Too many displacements of this location: the new Mac retries after `waitSec`, the current owner stays. */
  | { readonly kind: 'contended'; readonly waitSec: number };

/** The number of displacements of one location allowed within a window. */
export interface Contention {
  readonly displacements: number;
  readonly windowMs: number;
}

export const CONTENTION: Contention = { displacements: 4, windowMs: 60_000 };

const MAX_WAIT_SEC = 120;

/** The wait doubles with each rejected bind in a row. */
export function contendedWaitSec(rejections: number): number {
  return Math.min(MAX_WAIT_SEC, 2 ** rejections);
}

/** `send` settles within this time, plus the time of one request to the engine. */
export const SEND_TIMEOUT_MS = 1500;

/** How long a call of a former owner may be in flight: its timeout, and the time until its node notices that it lost the lease. */
export const SETTLE_TIMEOUT_MS = 20_000;

/** Resolves when the connection is ready, at the latest after `ms`. */
export async function untilReady(
  { ready }: Pick<MacConnection, 'ready'>,
  clock: Pick<Clock, 'sleep'>,
  ms: number,
): Promise<void> {
  const settled = new AbortController();
  await Promise.race([ready, clock.sleep(ms, settled.signal)]);
  settled.abort();
}

/** The statuses that this node reports to the CRM, as far as other nodes ask for them. */
export interface StatusKeeper {
  /**
   * Another node owns the location: ends the calls for the location and records their results. Resolves with the milliseconds for which a
   * call that timed out may still arrive at the CRM. Never rejects.
   */
  endCalls(locationId: string): Promise<number>;
  /** Another node has accepted a request for the message: ends the reports of rejected requests for it. Never rejects. */
  endRejections(locationId: string, messageId: string): Promise<void>;
  /** Resolves with undefined when this node does not know the message. Never rejects. */
  statusOf(locationId: string, messageId: string): Promise<ReportedStatus | undefined>;
}

/** What a node knows of a message that it has forwarded. */
export interface ReportedStatus {
  /** The last one that the CRM accepted from it. */
  readonly status: 'none' | 'written' | 'uncertain' | 'repeated' | 'pending' | 'delivered' | 'failed';
  /** Whether the message is on its way or was delivered. */
  readonly isUnderWay: boolean;
  /** Of the lease under which the node forwarded it. */
  readonly epoch: number;
}

/** Returns the one that is newer. Nothing follows `delivered`. */
export function newerStatus<Known extends Pick<ReportedStatus, 'status' | 'epoch'>>(
  one: Known | undefined,
  other: Known | undefined,
): Known | undefined {
  if (one === undefined || other?.status === 'delivered') return other ?? one;
  return other === undefined || one.status === 'delivered' || one.epoch > other.epoch ? one : other;
}

/** Takes the reply of a Mac. Returns false when this node did not ask. */
export type ReachListener = (reply: ReachResultFrame) => boolean;

export type SendOutcome = 'written' | 'not_connected';

/** `send` failed, and it is unknown whether the frame was written. */
export class UncertainSendError extends EngineError {
  override readonly name = 'UncertainSendError';
}

/** `send` failed, and nothing was written: the engine does not know now whether and where the Mac is connected. */
export class OwnerUnknownError extends EngineError {
  override readonly name = 'OwnerUnknownError';
}

/** Which Macs a node lists, and whether with their states. */
export interface MacQuery {
  readonly withStates?: boolean | undefined;
  /** Undefined: all devices. */
  readonly deviceId?: string | undefined;
}

/** A Mac that holds a location. */
export interface BoundMac {
  readonly locationId: LocationId;
  readonly deviceId: string;
  readonly sessionId: string;
  readonly epoch: number;
  readonly since: number;
  /** The node that holds the socket. */
  readonly node: string;
  /** Present in a `MacView`, if the Mac has reported one. */
  readonly stateReport?: StateReport;
}

/**
 * Routes frames to the one Mac that owns a location, on any node. Ownership is a lease with an epoch (M1).
 *
 * - `bind` takes the location for a connection. The epochs of a location only grow, also across restarts of the engine. The
 *   previous connection is disconnected (`displaced`, or `resumed` when the device is the same). Correctness does not depend on
 *   that notice: the previous epoch is stale as soon as `bind` resolves.
 * - The frames in the `SendLedger` of a device follow the device from node to node: `bind` collects them (M10). They outlive a node that is
 *   killed: once a frame was not confirmed for 200 ms, the other nodes keep copies of it and of later frames to the device.
 * - A displacement beyond `Contention` resolves with `contended`; the count restarts after a window without displacements. A
 *   device that reconnects to its own location is never rejected.
 * - `send` resolves with `written` only when the frame is on the socket of the current owner, and with `not_connected` when there
 *   is no owner or the owner is overloaded. It waits up to `SEND_TIMEOUT_MS` for an owner that is not `ready`. A frame is written at
 *   most once and never queued. Rejects with UncertainSendError when it is unknown whether the frame was written, with OwnerUnknownError
 *   while the engine has lost leases that are not restored yet or does not respond, and with another EngineError when the frame certainly
 *   was not written.
 * - `isCurrent` returns whether a lease is the newest that this node knows of. `confirm` asks the engine; call it right before a
 *   side effect outside the service.
 * - `callsEnded` resolves with 0 once the former owners of the location have ended their calls for it and recorded the results. When a
 *   former owner is gone or does not respond within `SETTLE_TIMEOUT_MS`, `callsEnded` resolves with the milliseconds for which a call of
 *   that owner may still be in flight. After that time it resolves with 0. Never rejects.
 * - `mayLackStatuses` returns whether a node that held the location in the last ten minutes is gone without ending its calls: it may have
 *   sent the CRM statuses that are not in the journal. Call it after `callsEnded`.
 * - `statusElsewhere` is for a request that was accepted under the lease. Other nodes that rejected a request for the same message end their
 *   reports of it first, as far as they respond. Then it asks all other nodes what they know of the message, and resolves with the newest. A
 *   node that does not respond within a second is left out. It asks only when another node has owned the location in the last
 *   `SETTLE_TIMEOUT_MS`: later the journal has everything. Never rejects.
 * - `isUnderWayElsewhere` is for a request that was rejected on this node. Call it right before the rejection is reported. It asks all
 *   other nodes whether the message is on its way or was delivered. It resolves with `unknown` when no node says so and some node did not
 *   respond within a second. From then on, a node that accepts a request for the message ends the report first (`statusElsewhere`). Never
 *   rejects.
 * - `reply` passes the reply of a Mac to the `onReply` listener of this node or, when this node did not ask, to the listeners of the other nodes.
 *   A reply may get lost on the way: the node that asked has a timeout.
 * - `release` gives up the location if the lease is current, and does nothing otherwise.
 * - When the engine is down, `bind`, `send` and `confirm` reject with EngineError. One exception: while the engine is down for
 *   all nodes, `send` still writes to a connection of this node until its lease expires. A node that may only be partitioned
 *   writes nothing. A connection whose lease cannot be renewed is disconnected with `fenced`.
 */
export interface Switchboard {
  bind(locationId: LocationId, connection: MacConnection): Promise<BindOutcome>;
  send(locationId: LocationId, frame: RoutedFrame): Promise<SendOutcome>;
  isCurrent(lease: Lease): boolean;
  confirm(lease: Lease): Promise<boolean>;
  release(lease: Lease): Promise<void>;
  callsEnded(lease: Lease): Promise<number>;
  mayLackStatuses(lease: Lease): boolean;
  statusElsewhere(messageId: string, lease: Lease): Promise<ReportedStatus | undefined>;
  isUnderWayElsewhere(locationId: string, messageId: string): Promise<boolean | 'unknown'>;
  /** `callsEnded` and `statusElsewhere` of other nodes ask this one for its statuses. */
  keepStatuses(keeper: StatusKeeper): void;
  reply(frame: ReachResultFrame): void;
  /** Replaces the listener of this node. */
  onReply(listener: ReachListener): void;
  /** Disconnects the Mac that holds the location, on any node. No later `send` reaches it. */
  disconnect(locationId: LocationId, reason: 'closed' | 'moved'): Promise<void>;
  /**
   * Resolves with the connected Macs of all nodes, or of one device, without their states. A node that does not respond within
   * a second is left out.
   */
  boundMacs(query?: Pick<MacQuery, 'deviceId'>): Promise<BoundMac[]>;
  /** Resolves with the same Macs and their states, by location. */
  viewMacs(): Promise<MacView>;
  /** Rejects with EngineError when the engine is down. */
  ping(): Promise<void>;
  /**
   * Releases all leases, disconnects the Macs of this node, and leaves the unconfirmed frames to another node if there is one. Calling it
   * twice is harmless.
   */
  close(): Promise<void>;
}

/** A connection of this node that holds a location. */
export interface Holding {
  readonly connection: MacConnection;
  readonly lease: Lease;
  readonly since: number;
}

/**
 * The Macs that hold locations, by location. A view may be live: it then shows the Macs at the time of each call, and `values` yields a
 * location twice if its Mac disconnects and reconnects during the iteration.
 */
export interface MacView {
  readonly size: number;
  get(locationId: string): BoundMac | undefined;
  values(): Iterable<BoundMac>;
}

/** Returns the entries of this node for `boundMacs` and `viewMacs`. */
export function boundMacsOf(
  holdings: Iterable<Holding>,
  node: string,
  { withStates = false, deviceId }: MacQuery,
): BoundMac[] {
  const macs: BoundMac[] = [];
  for (const holding of holdings)
    if (deviceId === undefined || holding.lease.deviceId === deviceId)
      macs.push(boundMacOf(holding, node, withStates));
  return macs;
}

export function boundMacOf(
  { connection: { stateReport }, lease, since }: Holding,
  node: string,
  withState: boolean,
): BoundMac {
  return { ...lease, since, node, ...(withState && stateReport !== undefined && { stateReport }) };
}
