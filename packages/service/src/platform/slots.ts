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

/** The limit of each holder of one scope. */
interface ScopeLimit {
  readonly scope: Scope;
  readonly max: number;
  /** By name. Holders without a slot are not in it. */
  readonly slots: Map<string, number>;
}

/** A holder that has taken a slot. */
interface Counted {
  readonly slots: Map<string, number>;
  readonly name: string;
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
      return max === undefined ? [] : [{ scope, max, slots: new Map() }];
    });
  }

  get isFull(): boolean {
    return this.#inUse >= this.#total;
  }

  /** Takes a slot, or returns the limit that does not allow it. */
  enter(holder: Holder = {}): Release | Scope | 'total' {
    if (this.isFull) return 'total';
    const share = Math.ceil((this.#total - this.#inUse) * SHARE_OF_FREE);
    let counted: readonly Counted[] = [];
    for (const { scope, max, slots } of this.#scopes) {
      const name = holder[scope];
      if (name === undefined) continue;
      if ((slots.get(name) ?? 0) >= Math.min(max, share)) return scope;
      // Copied, because push and spread reserve room for 17 items or more: a Mac's socket holds its slot for days.
      counted = counted.concat({ slots, name });
    }
    this.#inUse++;
    for (const { slots, name } of counted) slots.set(name, (slots.get(name) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#inUse--;
      for (const { slots, name } of counted) {
        const left = (slots.get(name) ?? 0) - 1;
        if (left > 0) slots.set(name, left);
        else slots.delete(name);
      }
    };
  }
}
