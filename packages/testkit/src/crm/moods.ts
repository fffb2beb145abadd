import type { Call, How, Misbehaviour, Mood } from './shapes.ts';

interface Pending {
  readonly what: Misbehaviour;
  spare: number;
  left: number;
  hits: number;
}

/** The failures ordered for coming calls; when several match a call, the oldest takes it. */
export class Moods {
  #pending: Pending[] = [];

  add(what: Misbehaviour): Mood {
    const pending: Pending = { what, spare: what.after ?? 0, left: what.times ?? 1, hits: 0 };
    this.#pending.push(pending);
    return {
      get hits() {
        return pending.hits;
      },
      stop: () => {
        this.#pending = this.#pending.filter((other) => other !== pending);
      },
    };
  }

  calm(): void {
    this.#pending = [];
  }

  take(call: Call): How | undefined {
    for (const pending of this.#pending) {
      if (!matches(pending.what, call)) continue;
      if (pending.spare > 0) {
        pending.spare--;
        continue;
      }
      pending.hits++;
      pending.left--;
      if (pending.left <= 0) this.#pending = this.#pending.filter((other) => other !== pending);
      return pending.what.how;
    }
    return undefined;
  }
}

function matches(what: Misbehaviour, call: Call): boolean {
  if (what.locationId !== undefined && what.locationId !== call.locationId) return false;
  if (what.match === '*' || what.match === call.route) return true;
  const line = `${call.method} ${call.path}`;
  return what.match.endsWith('*') ? line.startsWith(what.match.slice(0, -1)) : line === what.match;
}
