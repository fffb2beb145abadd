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

/** How this node knows that it still owns a location. A single node need not ask. */
export const leaseChecks = ({ isSingleNode }: Pick<Host, 'isSingleNode'>, switchboard: Switchboard) => ({
  isCurrent: (lease: Lease) => switchboard.isCurrent(lease),
  ...(!isSingleNode && { confirm: (lease: Lease) => switchboard.confirm(lease) }),
});
