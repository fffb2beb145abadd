export type Direction = 'up' | 'down';

/** `up` is from the client to the server. Without a direction a toxic works both ways. */
interface Common {
  direction?: Direction;
  /** The chance that a connection (for the last two: an exchange) is struck. Always, unless told. */
  probability?: number;
  /** How many are struck at most. */
  times?: number;
}

/** Names as in toxiproxy where it has them. */
export type Toxic = Common &
  (
    | { type: 'latency'; ms: number; jitterMs?: number }
    | { type: 'bandwidth'; bytesPerSec: number }
    /** Small pieces, with a pause between them. */
    | { type: 'slicer'; bytes: number; delayMs?: number }
    /** Cuts the connection after so many bytes, wherever in the message that is. */
    | { type: 'limit_data'; bytes: number }
    /** RST to both ends, at once or later. */
    | { type: 'reset_peer'; afterMs?: number }
    /** Swallows everything, closing included. A connection that lost bytes is reset when the toxic goes. */
    | { type: 'timeout' }
    | { type: 'slow_close'; ms: number }
    /** One end's death is hidden from the other: `up` hides the client's from the server. */
    | { type: 'half_open' }
    /** The request arrives, its answer is lost with the connection. */
    | { type: 'drop_response' }
    /** The request arrives a second time, on a connection of its own. */
    | { type: 'duplicate_request' }
  );

export type ToxicType = Toxic['type'];

export interface ToxicHandle {
  readonly id: number;
  /** How many connections or exchanges it struck. */
  readonly hits: number;
  remove(): void;
}

interface Active {
  readonly id: number;
  readonly toxic: Toxic;
  readonly decided: WeakMap<object, boolean>;
  hits: number;
}

/** Which toxics are in the line, and whom they strike. */
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

  /** The toxics of that type in the way of a connection or exchange. The dice are cast once for each of them. */
  striking<T extends ToxicType>(type: T, whom: object, direction?: Direction): Extract<Toxic, { type: T }>[] {
    return this.#active.flatMap((active) => {
      const { toxic } = active;
      if (!isOf(toxic, type)) return [];
      if (direction && toxic.direction && toxic.direction !== direction) return [];
      return this.#strikes(active, whom) ? [toxic] : [];
    });
  }

  /** From 0 to 1. */
  chance(): number {
    return this.#random();
  }

  #strikes(active: Active, whom: object): boolean {
    const known = active.decided.get(whom);
    if (known !== undefined) return known;
    const { probability = 1, times = Infinity } = active.toxic;
    const struck = active.hits < times && this.#random() < probability;
    if (struck) active.hits++;
    active.decided.set(whom, struck);
    return struck;
  }
}

function isOf<T extends ToxicType>(toxic: Toxic, type: T): toxic is Extract<Toxic, { type: T }> {
  return toxic.type === type;
}

/** mulberry32: the same seed, the same accidents. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
