import type { LocationId } from '@footbridge/protocol/ids';
import type { Log } from '@footbridge/runtime/log';

import type {
  AdoptNotice,
  ConfirmedNotice,
  CopyNotice,
  CopyRequest,
  KeptNotice,
  MacName,
  TakenNotice,
} from './bus.ts';
import type { FrameCopies } from './frame-copies-redis.ts';
import type { LeaseKeeper, RedisLeases } from './leases-redis.ts';
import type { FrameHandler, NodeBus } from './node-bus-redis.ts';
import { LEDGER_LIMITS, requestIdsOf } from './send-ledger.ts';
import type { HandedFrame, SendLedger } from './send-ledger.ts';
import type { Lease, MacConnection } from './switchboard.ts';

/**
 * How long a new connection waits for the unconfirmed frames of its device. Shorter than the wait of `send`, so that webhooks that arrive
 * during the wait are written after the frames. Frames that arrive later are written on arrival.
 */
const TAKE_OVER_TIMEOUT_MS = 1000;

export interface HandOverDeps {
  readonly bus: Pick<NodeBus, 'takeOver' | 'kept' | 'findAdopter' | 'adopt'>;
  readonly leases: Pick<RedisLeases, 'release'>;
  readonly ledger: SendLedger;
  readonly copies: FrameCopies;
  readonly node: string;
  readonly log: Log;
  /** Returns the connection of this node that holds the location. */
  readonly holderOf: (
    locationId: LocationId,
  ) => { readonly lease: Lease; readonly connection: Pick<MacConnection, 'repeat'> } | undefined;
}

/** Brings the frames that a device has not confirmed to the node that the device is connected to (M10). */
export class HandOver implements FrameHandler {
  readonly #deps: HandOverDeps;

  constructor(deps: HandOverDeps) {
    this.#deps = deps;
  }

  /** Collects the frames of the device from other nodes, or from `all`. Resolves once they are in the ledger. Never rejects. */
  async collect(lease: Lease, nodes: readonly string[]): Promise<void> {
    const { ledger, copies } = this.#deps;
    const { locationId, deviceId } = lease;
    const handed = await Promise.all(nodes.map((node) => this.#framesFrom(node, lease)));
    ledger.adopt(locationId, deviceId, merged([...handed.flat(), copies.take(lease)]));
  }

  /** Returns all frames of the device that this node has, oldest first, for a node that has bound it. A frame may be in the list twice. */
  framesOf(mac: MacName): HandedFrame[] {
    const { ledger, copies } = this.#deps;
    // The other node forgets its copies of what the Mac has confirmed before it gets the rest.
    copies.announceConfirmed();
    return [...copies.of(mac), ...ledger.handOver(mac.locationId, mac.deviceId)];
  }

  /** The name of this node for Redis, when the lease of a device is released and this node keeps unconfirmed frames of the device. */
  keeperOf({ locationId, deviceId }: Lease): LeaseKeeper | undefined {
    return this.#deps.ledger.hasUnconfirmed(locationId, deviceId) ? this.#keeper(deviceId) : undefined;
  }

  /**
   * Offers frames to the other nodes. Redis may not have named this node to the node that bound the device, this node may have missed the
   * request, or other nodes may have missed the copies.
   */
  offer(): void {
    const { bus, ledger, holderOf } = this.#deps;
    const isOffered = ({ locationId, deviceId }: MacName) =>
      holderOf(locationId as LocationId)?.lease.deviceId !== deviceId ||
      ledger.hasCopies(locationId, deviceId);
    bus.kept([...ledger.devices()].filter(isOffered));
  }

  /** Leaves the frames to another node: this one is shutting down. Never rejects. */
  async leave(): Promise<void> {
    const { bus, leases, ledger, copies, log } = this.#deps;
    copies.announceConfirmed();
    if (ledger.size === 0) return;
    try {
      const node = await bus.findAdopter();
      if (node === undefined) return;
      for (const { locationId, deviceId } of ledger.devices()) {
        const frames = ledger.handOver(locationId, deviceId);
        await bus.adopt(node, { locationId, deviceId, frames });
        await leases.release(locationId as LocationId, 'none', { ...this.#keeper(deviceId), node });
        ledger.forget(locationId, deviceId, requestIdsOf(frames));
      }
    } catch (error) {
      log.warn(
        { event: 'switchboard.frames_not_left', err: error, frames: ledger.size },
        'unconfirmed frames not left to another node',
      );
    }
  }

  /** For a device that is connected here, the take-over of the bind failed, or Redis named another node. */
  onKept({ from, macs }: KeptNotice): void {
    for (const mac of macs) {
      const lease = this.#deps.holderOf(mac.locationId as LocationId)?.lease;
      if (lease?.deviceId === mac.deviceId) void this.#collectLate(lease, from);
      else this.#deps.copies.onKept(from, mac);
    }
  }

  onLateFrames({ locationId, deviceId }: MacName, frames: readonly HandedFrame[]): void {
    const adopted = this.#deps.ledger.adopt(locationId, deviceId, frames);
    const holder = this.#deps.holderOf(locationId as LocationId);
    if (holder?.lease.deviceId === deviceId) holder.connection.repeat(adopted);
  }

  /** Keeps the copies: the node that has taken the frames may be killed, too. */
  onTaken({ locationId, deviceId, requestIds }: TakenNotice): void {
    this.#deps.ledger.forget(locationId, deviceId, requestIds);
  }

  onConfirmed({ locationId, deviceId, requestIds }: ConfirmedNotice): void {
    const { ledger, copies } = this.#deps;
    ledger.forget(locationId, deviceId, requestIds);
    copies.forget({ locationId, deviceId }, requestIds);
  }

  onCopy(notice: CopyNotice): void {
    this.#deps.copies.onCopy(notice);
  }

  onCopyRequest(request: CopyRequest): void {
    this.#deps.copies.onCopyRequest(request);
  }

  onAdopt({ locationId, deviceId, frames }: AdoptNotice): void {
    this.#deps.ledger.adopt(locationId, deviceId, frames);
  }

  async #collectLate(lease: Lease, node: string): Promise<void> {
    this.onLateFrames(lease, merged(await this.#framesFrom(node, lease)));
  }

  /** Collects the frames from a node that may keep them. Never rejects. */
  async #framesFrom(node: string, { locationId, deviceId, epoch }: Lease): Promise<HandedFrame[][]> {
    try {
      return await this.#deps.bus.takeOver(node, { locationId, deviceId, epoch }, TAKE_OVER_TIMEOUT_MS);
    } catch (error) {
      this.#deps.log.warn(
        { event: 'switchboard.take_over_failed', err: error, locationId, deviceId },
        'unconfirmed frames not collected from another node',
      );
      return [];
    }
  }

  #keeper(deviceId: string): LeaseKeeper {
    return { node: this.#deps.node, deviceId, forMs: LEDGER_LIMITS.maxAgeMs };
  }
}

/** Nodes that missed a notice have fewer copies, so the longest list has the right order. The ledger takes each frame once. */
const merged = (lists: readonly (readonly HandedFrame[])[]): HandedFrame[] =>
  lists.toSorted((one, other) => other.length - one.length).flat();
