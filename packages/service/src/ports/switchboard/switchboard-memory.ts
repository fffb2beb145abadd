import type { LocationId } from '@footbridge/protocol/ids';

import type { Clock } from '../../clock.ts';
import { EngineError } from '../../errors.ts';
import { CONTENTION, contendedWaitSec } from './switchboard.ts';
import type {
  BindOutcome,
  Contention,
  CutReason,
  Lease,
  Line,
  LineFrame,
  Occupant,
  SendOutcome,
  Switchboard,
} from './switchboard.ts';

interface Binding {
  readonly lease: Lease;
  readonly line: Line;
  readonly since: number;
}

interface Fight {
  /** When a Mac was displaced, within the window, oldest first. */
  times: number[];
  refusals: number;
}

export interface MemorySwitchboardOptions {
  readonly clock: Clock;
  readonly node?: string;
  readonly contention?: Contention;
}

/** The engine of a single node: everybody is here, so a Map knows all there is to know. */
export function createMemorySwitchboard(options: MemorySwitchboardOptions): Switchboard {
  return new MemorySwitchboard(options);
}

class MemorySwitchboard implements Switchboard {
  readonly #clock: Clock;
  readonly #node: string;
  readonly #contention: Contention;
  readonly #bindings = new Map<LocationId, Binding>();
  readonly #fights = new Map<LocationId, Fight>();
  #sweepAt = 0;
  #epoch: number;
  #closed = false;

  constructor({ clock, node = 'local', contention = CONTENTION }: MemorySwitchboardOptions) {
    this.#clock = clock;
    this.#node = node;
    this.#contention = contention;
    // A thousand numbers per millisecond: no life of this process can overtake the start of the next one.
    this.#epoch = clock.now() * 1000;
  }

  async bind(locationId: LocationId, line: Line): Promise<BindOutcome> {
    this.#refuseWhenClosed();
    const former = this.#bindings.get(locationId);
    const displaced = former !== undefined && former.line.deviceId !== line.deviceId;
    const waitSec = displaced ? this.#challenge(locationId) : 0;
    if (waitSec > 0) return { kind: 'contended', waitSec };
    const { deviceId, sessionId } = line;
    const lease = { locationId, deviceId, sessionId, epoch: ++this.#epoch };
    this.#bindings.set(locationId, { lease, line, since: this.#clock.now() });
    former?.line.cut(displaced ? 'displaced' : 'resumed');
    return { kind: 'bound', lease, displaced };
  }

  async send(locationId: LocationId, frame: LineFrame): Promise<SendOutcome> {
    this.#refuseWhenClosed();
    const binding = this.#bindings.get(locationId);
    if (binding === undefined) return 'not_connected';
    return binding.line.write(frame, binding.lease.epoch) === 'written' ? 'written' : 'not_connected';
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

  async disconnect(locationId: LocationId): Promise<void> {
    this.#cut(locationId, 'closed');
  }

  async occupants(): Promise<Occupant[]> {
    return Array.from(this.#bindings.values(), ({ lease, since }) => ({ ...lease, since, node: this.#node }));
  }

  async ping(): Promise<void> {
    this.#refuseWhenClosed();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const locationId of this.#bindings.keys()) this.#cut(locationId, 'fenced');
    this.#fights.clear();
  }

  #cut(locationId: LocationId, reason: CutReason): void {
    const binding = this.#bindings.get(locationId);
    this.#bindings.delete(locationId);
    binding?.line.cut(reason);
  }

  /** Counts a displacement that is about to happen; answers how long the challenger has to wait instead, or 0. */
  #challenge(locationId: LocationId): number {
    const now = this.#clock.monotonic();
    this.#forgetOldFights(now);
    const fight = this.#fights.get(locationId) ?? { times: [], refusals: 0 };
    this.#fights.set(locationId, fight);
    fight.times = fight.times.filter((time) => now - time < this.#contention.windowMs);
    if (fight.times.length === 0) fight.refusals = 0;
    if (fight.times.length >= this.#contention.displacements) return contendedWaitSec(++fight.refusals);
    fight.times.push(now);
    return 0;
  }

  #forgetOldFights(now: number): void {
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + this.#contention.windowMs;
    for (const [locationId, { times }] of this.#fights)
      if (now - (times.at(-1) ?? 0) >= this.#contention.windowMs) this.#fights.delete(locationId);
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new EngineError('switchboard', 'the switchboard is closed');
  }
}
