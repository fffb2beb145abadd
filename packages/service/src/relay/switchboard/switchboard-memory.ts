import type { ReachResultFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';

import { EngineError } from '../../platform/errors.ts';
import {
  CONTENTION,
  SEND_TIMEOUT_MS,
  boundMacOf,
  boundMacsOf,
  contendedWaitSec,
  untilReady,
} from './switchboard.ts';
import type {
  BindOutcome,
  Contention,
  DisconnectReason,
  Lease,
  MacConnection,
  ReachListener,
  RoutedFrame,
  BoundMac,
  Holding,
  MacQuery,
  MacView,
  SendOutcome,
  Switchboard,
} from './switchboard.ts';

interface DisplacementHistory {
  /** When Macs were displaced, within the window, oldest first. */
  times: number[];
  rejections: number;
}

export interface MemorySwitchboardDeps {
  readonly clock: Clock;
  readonly node?: string;
  readonly contention?: Contention;
}

/** The engine for a single node: a Map holds the complete state. */
export function createMemorySwitchboard(deps: MemorySwitchboardDeps): Switchboard {
  return new MemorySwitchboard(deps);
}

class MemorySwitchboard implements Switchboard {
  readonly #clock: Clock;
  readonly #node: string;
  readonly #contention: Contention;
  readonly #bindings = new Map<LocationId, Holding>();
  readonly #displacements = new Map<LocationId, DisplacementHistory>();
  #replies: ReachListener | undefined;
  #sweepAt = 0;
  #epoch: number;
  #closed = false;

  constructor({ clock, node = 'local', contention = CONTENTION }: MemorySwitchboardDeps) {
    this.#clock = clock;
    this.#node = node;
    this.#contention = contention;
    // 1,000 epochs per millisecond: no process hands out enough of them to pass the first epoch of its successor.
    this.#epoch = clock.now() * 1000;
  }

  async bind(locationId: LocationId, connection: MacConnection): Promise<BindOutcome> {
    this.#assertOpen();
    const previous = this.#bindings.get(locationId);
    const displaced = previous !== undefined && previous.connection.deviceId !== connection.deviceId;
    const waitSec = displaced ? this.#countDisplacement(locationId) : 0;
    if (waitSec > 0) return { kind: 'contended', waitSec };
    const { deviceId, sessionId } = connection;
    const lease = { locationId, deviceId, sessionId, epoch: ++this.#epoch };
    this.#bindings.set(locationId, { lease, connection, since: this.#clock.now() });
    previous?.connection.disconnect(displaced ? 'displaced' : 'resumed');
    return { kind: 'bound', lease, displaced };
  }

  async send(locationId: LocationId, frame: RoutedFrame): Promise<SendOutcome> {
    this.#assertOpen();
    const deadline = this.#clock.monotonic() + SEND_TIMEOUT_MS;
    for (;;) {
      const binding = this.#bindings.get(locationId);
      if (binding === undefined) return 'not_connected';
      const { connection, lease } = binding;
      if (connection.ready === undefined)
        return connection.write(frame, lease.epoch) === 'written' ? 'written' : 'not_connected';
      const leftMs = deadline - this.#clock.monotonic();
      if (leftMs <= 0) return 'not_connected';
      await untilReady(connection, this.#clock, leftMs);
    }
  }

  isCurrent(lease: Lease): boolean {
    return this.#bindings.get(lease.locationId)?.lease.epoch === lease.epoch;
  }

  async confirm(lease: Lease): Promise<boolean> {
    return this.isCurrent(lease);
  }

  async release(lease: Lease): Promise<void> {
    if (this.isCurrent(lease)) this.#bindings.delete(lease.locationId);
  }

  async callsEnded(): Promise<number> {
    return 0;
  }

  mayLackStatuses(): boolean {
    return false;
  }

  async statusElsewhere(): Promise<undefined> {}

  async isUnderWayElsewhere(): Promise<boolean> {
    return false;
  }

  keepStatuses(): void {}

  reply(frame: ReachResultFrame): void {
    this.#replies?.(frame);
  }

  onReply(listener: ReachListener): void {
    this.#replies = listener;
  }

  async disconnect(locationId: LocationId, reason: 'closed' | 'moved'): Promise<void> {
    this.#drop(locationId, reason);
  }

  async boundMacs(query: Pick<MacQuery, 'deviceId'> = {}): Promise<BoundMac[]> {
    return boundMacsOf(this.#bindings.values(), this.#node, query);
  }

  async viewMacs(): Promise<MacView> {
    return new HeldMacs(this.#bindings, this.#node);
  }

  async ping(): Promise<void> {
    this.#assertOpen();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const locationId of this.#bindings.keys()) this.#drop(locationId, 'fenced');
    this.#displacements.clear();
  }

  #drop(locationId: LocationId, reason: DisconnectReason): void {
    const binding = this.#bindings.get(locationId);
    this.#bindings.delete(locationId);
    binding?.connection.disconnect(reason);
  }

  /** Counts a displacement that is about to happen. Returns 0, or the seconds to wait when there were too many. */
  #countDisplacement(locationId: LocationId): number {
    const now = this.#clock.monotonic();
    this.#sweepDisplacements(now);
    const history = this.#displacements.get(locationId) ?? { times: [], rejections: 0 };
    this.#displacements.set(locationId, history);
    history.times = history.times.filter((time) => now - time < this.#contention.windowMs);
    if (history.times.length === 0) history.rejections = 0;
    if (history.times.length >= this.#contention.displacements) return contendedWaitSec(++history.rejections);
    history.times.push(now);
    return 0;
  }

  #sweepDisplacements(now: number): void {
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + this.#contention.windowMs;
    for (const [locationId, { times }] of this.#displacements)
      if (now - (times.at(-1) ?? 0) >= this.#contention.windowMs) this.#displacements.delete(locationId);
  }

  #assertOpen(): void {
    if (this.#closed) throw new EngineError('switchboard', 'the switchboard is closed');
  }
}

/** Creates the entries one by one: a list of thousands would survive several garbage collections. */
class HeldMacs implements MacView {
  readonly #holdings: ReadonlyMap<string, Holding>;
  readonly #node: string;

  constructor(holdings: ReadonlyMap<string, Holding>, node: string) {
    this.#holdings = holdings;
    this.#node = node;
  }

  get size(): number {
    return this.#holdings.size;
  }

  get(locationId: string): BoundMac | undefined {
    const holding = this.#holdings.get(locationId);
    return holding && boundMacOf(holding, this.#node, true);
  }

  values(): Iterable<BoundMac> {
    return this.#holdings.values().map((holding) => boundMacOf(holding, this.#node, true));
  }
}
