/** How long a node must be reachable to get copies of frames that it missed: the other nodes offer them every 3 s. */
const OFFER_MS = 3500;
/** After an outage, a node takes this long to be connected to Redis again. */
const RECOVERY_MS = 2000;

interface Outage {
  /** Undefined: all nodes. */
  readonly node: number | undefined;
  readonly from: number;
  to: number;
}

/** Records when nodes could not hear each other: they were down, frozen, cut off from Redis or deaf to it. Times are monotonic. */
export class Outages {
  readonly #nodes: number;
  readonly #outages: Outage[] = [];

  constructor(nodes: number) {
    this.#nodes = nodes;
  }

  async during(node: number | undefined, act: () => Promise<unknown>): Promise<void> {
    const outage = { node, from: performance.now(), to: Infinity };
    this.#outages.push(outage);
    await act().finally(() => (outage.to = performance.now() + RECOVERY_MS));
  }

  /** Returns the time since which no other node could take copies of the frames of this one, or Infinity when one can. */
  aloneSince(node: number, now = performance.now()): number {
    const others = Array.from({ length: this.#nodes }, (_, other) => other).filter((other) => other !== node);
    const latest = Math.max(-Infinity, ...others.map((other) => this.#lastReachable(other, now)));
    return latest === now ? Infinity : latest;
  }

  /** Returns the end of the last period in which the node could hear the others for long enough. */
  #lastReachable(node: number, now: number): number {
    const latestFirst = this.#outages
      .filter((outage) => outage.node === undefined || outage.node === node)
      .toSorted((one, other) => other.to - one.to);
    let end = now;
    for (const { from, to } of latestFirst) {
      if (end - to >= OFFER_MS) return end;
      end = Math.min(end, from);
    }
    return end;
  }
}
