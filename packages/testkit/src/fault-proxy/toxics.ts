import { seeded } from '../seeded.ts';

export type Direction = 'up' | 'down';

/** `up` is from the client to the server. A toxic without a direction affects both. */
interface Common {
  direction?: Direction;
  /** The probability that a connection (for the last two types: an exchange) is affected. Default 1. */
  probability?: number;
  /** The maximum number of affected connections or exchanges. */
  times?: number;
}

/** Named as in toxiproxy, where it has the same toxic. */
export type Toxic = Common &
  (
    | { type: 'latency'; ms: number; jitterMs?: number }
    | { type: 'bandwidth'; bytesPerSec: number }
    /** Splits the data into small pieces with a delay between them. */
    | { type: 'slicer'; bytes: number; delayMs?: number }
    /** Closes the connection after this number of bytes. */
    | { type: 'limit_data'; bytes: number }
    /** Sends RST to both ends, immediately or after a delay. */
    | { type: 'reset_peer'; afterMs?: number }
    /** Drops all data and the end of the stream. A connection that lost data is reset when the toxic is removed. */
    | { type: 'timeout' }
    | { type: 'slow_close'; ms: number }
    /** Hides the disconnect of one end from the other: `up` hides the client's from the server. */
    | { type: 'half_open' }
    /** Forwards the request, then resets the connection instead of forwarding the response. */
    | { type: 'drop_response' }
    /** Sends the request a second time on a separate connection. */
    | { type: 'duplicate_request' }
  );

export type ToxicType = Toxic['type'];

export interface ToxicHandle {
  readonly id: number;
  /** The number of affected connections or exchanges. */
  readonly hits: number;
  remove(): void;
}

interface Active {
  readonly id: number;
  readonly toxic: Toxic;
  readonly decided: WeakMap<object, boolean>;
  hits: number;
}

/** The active toxics, and the choice of the connections and exchanges that they affect. */
export class Toxics {
  readonly #random: () => number;
  #active: Active[] = [];
  #ids = 0;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  add(toxic: Toxic, removed: () => void): ToxicHandle {
    const active: Active = { id: ++this.#ids, toxic, decided: new WeakMap(), hits: 0 };
    this.#active.push(active);
    return {
      id: active.id,
      get hits() {
        return active.hits;
      },
      remove: () => {
        this.#active = this.#active.filter((other) => other !== active);
        removed();
      },
    };
  }

  clear(): void {
    this.#active = [];
  }

  get list(): { id: number; toxic: Toxic; hits: number }[] {
    return this.#active.map(({ id, toxic, hits }) => ({ id, toxic, hits }));
  }

  /** Returns the toxics of that type that affect a connection or exchange. The random choice is made once for each. */
  affecting<T extends ToxicType>(
    type: T,
    target: object,
    direction?: Direction,
  ): Extract<Toxic, { type: T }>[] {
    return this.#active.flatMap((active) => {
      const { toxic } = active;
      if (!isOf(toxic, type)) return [];
      if (direction && toxic.direction && toxic.direction !== direction) return [];
      return this.#affects(active, target) ? [toxic] : [];
    });
  }

  /** Returns a random number from 0 to 1. */
  random(): number {
    return this.#random();
  }

  #affects(active: Active, target: object): boolean {
    const decided = active.decided.get(target);
    if (decided !== undefined) return decided;
    const { probability = 1, times = Infinity } = active.toxic;
    const affected = active.hits < times && this.#random() < probability;
    if (affected) active.hits++;
    active.decided.set(target, affected);
    return affected;
  }
}

function isOf<T extends ToxicType>(toxic: Toxic, type: T): toxic is Extract<Toxic, { type: T }> {
  return toxic.type === type;
}
