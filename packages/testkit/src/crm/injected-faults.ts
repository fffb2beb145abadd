import type { Call, Fault, FaultRule, FaultHandle } from './types.ts';

interface ActiveRule {
  readonly rule: FaultRule;
  toSkip: number;
  remaining: number;
  hits: number;
}

/** Rules for faults in future calls. If several match a call, the oldest applies. */
export class InjectedFaults {
  #active: ActiveRule[] = [];

  add(rule: FaultRule): FaultHandle {
    const active: ActiveRule = { rule, toSkip: rule.after ?? 0, remaining: rule.times ?? 1, hits: 0 };
    this.#active.push(active);
    return {
      get hits() {
        return active.hits;
      },
      stop: () => this.#remove(active),
    };
  }

  clear(): void {
    this.#active = [];
  }

  take(call: Call): Fault | undefined {
    for (const active of this.#active) {
      if (!matches(active.rule, call)) continue;
      if (active.toSkip > 0) {
        active.toSkip--;
        continue;
      }
      active.hits++;
      active.remaining--;
      if (active.remaining <= 0) this.#remove(active);
      return active.rule.how;
    }
    return undefined;
  }

  #remove(active: ActiveRule): void {
    this.#active = this.#active.filter((other) => other !== active);
  }
}

function matches({ match, locationId }: FaultRule, call: Call): boolean {
  if (locationId !== undefined && locationId !== call.locationId) return false;
  if (match === '*' || match === call.route) return true;
  const line = `${call.method} ${call.path}`;
  return match.endsWith('*') ? line.startsWith(match.slice(0, -1)) : line === match;
}
