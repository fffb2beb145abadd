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

/** Holders without a slot are forgotten when there are this many names, and again whenever the number of the remaining ones has doubled. */
const MIN_FORGET_AT = 1024;

interface Held {
  slots: number;
}

/**
 * The holders of one scope by name. One without a slot is not forgotten at once: adding and removing the same name for each request would make the
 * Map allocate a new table every few requests.
 */
class Holders {
  readonly #byName = new Map<string, Held>();
  #forgetAt = MIN_FORGET_AT;

  of(name: string): Held {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    if (this.#byName.size >= this.#forgetAt) this.#forget();
    const added = { slots: 0 };
    this.#byName.set(name, added);
    return added;
  }

  #forget(): void {
    for (const [name, { slots }] of this.#byName) if (slots === 0) this.#byName.delete(name);
    this.#forgetAt = Math.max(MIN_FORGET_AT, 2 * this.#byName.size);
  }
}

/** Slots for requests at the same time, within the limits of the table and `SHARE_OF_FREE`. */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #holders: Readonly<Record<Scope, Holders>> = {
    address: new Holders(),
    license: new Holders(),
    device: new Holders(),
    operator: new Holders(),
  };
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
    let holders: readonly Held[] = [];
    for (const scope of SCOPES) {
      const name = holder[scope];
      const limit = this.#limits[LIMIT_OF[scope]];
      if (name === undefined || limit === undefined) continue;
      const held = this.#holders[scope].of(name);
      if (held.slots >= Math.min(limit, share)) return scope;
      // Copied, because push and spread reserve room for 17 items or more: a Mac's socket holds its slot for days.
      holders = holders.concat(held);
    }
    this.#inUse++;
    for (const held of holders) held.slots++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#inUse--;
      for (const held of holders) held.slots--;
    };
  }
}
