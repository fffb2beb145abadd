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

/** A holder takes at most this share of the free slots, so that it takes more than 20 holders to fill 256 slots. */
export const SHARE_OF_FREE = 1 / 4;

/** Holders without a slot are removed when the map has this many entries, and again each time the remaining entries have doubled. */
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

/** The limit of each holder of one scope. */
interface ScopeLimit {
  readonly scope: Scope;
  readonly max: number;
  readonly holders: Holders;
}

/** Slots for requests at the same time, within the limits of the table and `SHARE_OF_FREE`. */
export class Slots {
  readonly #total: number;
  readonly #scopes: readonly ScopeLimit[];
  #inUse = 0;

  constructor(limits: SlotLimits) {
    this.#total = limits.total;
    this.#scopes = SCOPES.flatMap((scope) => {
      const max = limits[LIMIT_OF[scope]];
      return max === undefined ? [] : [{ scope, max, holders: new Holders() }];
    });
  }

  get isFull(): boolean {
    return this.#inUse >= this.#total;
  }

  /** Takes a slot, or returns the limit that does not allow it. */
  enter(holder: Holder = {}): Release | Scope | 'total' {
    if (this.isFull) return 'total';
    const share = Math.ceil((this.#total - this.#inUse) * SHARE_OF_FREE);
    let counted: readonly Held[] = [];
    for (const { scope, max, holders } of this.#scopes) {
      const name = holder[scope];
      if (name === undefined) continue;
      const held = holders.of(name);
      if (held.slots >= Math.min(max, share)) return scope;
      // Copied, because push and spread reserve room for 17 items or more: a Mac's socket holds its slot for days.
      counted = counted.concat(held);
    }
    this.#inUse++;
    for (const held of counted) held.slots++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#inUse--;
      for (const held of counted) held.slots--;
    };
  }
}
