import type { SlotLimits } from './budgets.ts';

/** The kinds of holders that can have a limit of their own. */
export type Scope = 'address' | 'license' | 'device' | 'operator';

export type Holder = Readonly<Partial<Record<Scope, string>>>;

/** Frees the slot. Harmless when called again. */
type Release = () => void;

const LIMIT_OF = {
  address: 'perAddress',
  license: 'perLicense',
  device: 'perDevice',
  operator: 'perOperator',
} as const;
const SCOPES = ['address', 'license', 'device', 'operator'] as const;

/** A holder takes at most this share of the free slots, so that a few greedy ones leave room: 256 slots last for 20 of them. */
export const SHARE_OF_FREE = 1 / 4;

/** Slots for requests at the same time, within the limits of the table and `SHARE_OF_FREE`. */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #held = new Map<string, number>();
  #inUse = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  get isFull(): boolean {
    return this.#inUse >= this.#limits.total;
  }

  /** Takes a slot, or returns the limit that does not allow it. */
  enter(holder: Holder = {}): Release | Scope | 'total' {
    if (this.isFull) return 'total';
    const share = Math.ceil((this.#limits.total - this.#inUse) * SHARE_OF_FREE);
    let keys: readonly string[] = [];
    for (const scope of SCOPES) {
      const name = holder[scope];
      const limit = this.#limits[LIMIT_OF[scope]];
      if (name === undefined || limit === undefined) continue;
      const key = `${scope} ${name}`;
      if ((this.#held.get(key) ?? 0) >= Math.min(limit, share)) return scope;
      // Copied, because push and spread reserve room for 17 items or more: a Mac's socket holds its slot for days.
      keys = keys.concat(key);
    }
    this.#inUse++;
    for (const key of keys) this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#inUse--;
      for (const key of keys) this.#leave(key);
    };
  }

  #leave(key: string): void {
    const left = (this.#held.get(key) ?? 1) - 1;
    if (left === 0) this.#held.delete(key);
    else this.#held.set(key, left);
  }
}
