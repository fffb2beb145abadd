import type { Clock } from '@footbridge/runtime/clock';

import type { Host } from '../../platform/host.ts';
import type { Lease, Switchboard } from './switchboard.ts';

export interface LeaseChecks {
  /** What this node knows. */
  readonly isCurrent: (lease: Lease) => boolean;
  /** Asks the lease store; undefined on a single node, where `isCurrent` is the truth. */
  readonly confirm?: (lease: Lease) => Promise<boolean>;
}

/** The lease under which a task acts. When the Mac reconnects and repeats its frame, the task goes on under the newer lease. */
export class LeaseFence {
  readonly #checks: LeaseChecks;
  #lease: Lease;

  constructor(lease: Lease, checks: LeaseChecks) {
    this.#lease = lease;
    this.#checks = checks;
  }

  get lease(): Lease {
    return this.#lease;
  }

  takeOver(lease: Lease): void {
    if (lease.epoch > this.#lease.epoch) this.#lease = lease;
  }

  isCurrent(): boolean {
    return this.#checks.isCurrent(this.#lease);
  }

  /** Rejects when the lease store is unavailable. */
  async confirm(): Promise<boolean> {
    const { confirm } = this.#checks;
    if (confirm === undefined) return true;
    for (;;) {
      const lease = this.#lease;
      if (await confirm(lease)) return true;
      // The Mac may have reconnected in the meantime.
      if (lease === this.#lease) return false;
    }
  }
}

/** How long a room has worked under each lease: calls that began before may be in flight for some time after its first use. */
export class LeaseAges {
  readonly #firstUsedAt = new WeakMap<Lease, number>();
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  used(lease: Lease): void {
    if (!this.#firstUsedAt.has(lease)) this.#firstUsedAt.set(lease, this.#clock.monotonic());
  }

  /** 0 for a lease that was not used. */
  ageMs(lease: Lease): number {
    const now = this.#clock.monotonic();
    return now - (this.#firstUsedAt.get(lease) ?? now);
  }
}

/** How this node knows that it still owns a location. A single node need not ask. */
export const leaseChecks = ({ isSingleNode }: Pick<Host, 'isSingleNode'>, switchboard: Switchboard) => ({
  isCurrent: (lease: Lease) => switchboard.isCurrent(lease),
  ...(!isSingleNode && { confirm: (lease: Lease) => switchboard.confirm(lease) }),
});
