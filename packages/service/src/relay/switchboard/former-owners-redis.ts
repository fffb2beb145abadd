import type { Clock } from '@footbridge/runtime/clock';

import type { NodeBus } from './node-bus-redis.ts';
import { RejectingNodes } from './rejecting-nodes.ts';
import { SETTLE_TIMEOUT_MS } from './switchboard.ts';
import type { Lease } from './switchboard.ts';

/** How long a call to the CRM may be in flight. */
const CALL_TIMEOUT_MS = 11_000;
/** CRMs repeat most webhooks within this time. */
const UNRECORDED_MS = 600_000;

export interface FormerOwnersDeps {
  readonly bus: Pick<NodeBus, 'endCalls'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly node: string;
}

/** Makes other nodes end their calls to the CRM before this node makes its own for the same location or message. */
export class FormerOwners {
  readonly #deps: FormerOwnersDeps;
  /**
   * The locations that were bound here recently, and on another node before. Each promise resolves once the former node has ended its
   * calls. Its value is the monotonic time until which calls of a dead node may be in flight.
   */
  readonly #ended = new Map<string, Promise<number>>();
  /** Locations recently held by a node that is gone, with the monotonic time until which its unrecorded statuses matter. */
  readonly #unrecorded = new Map<string, number>();
  readonly #rejecting = new RejectingNodes();

  constructor(deps: FormerOwnersDeps) {
    this.#deps = deps;
  }

  /** Asks the node that bound the location before to end its calls. After `SETTLE_TIMEOUT_MS` none can be in flight any more. */
  askFormerOwner(lease: Lease, node: string | undefined): void {
    if (node === undefined || node === this.#deps.node) return;
    const { locationId } = lease;
    const ended = this.#endCalls(node, lease);
    this.#ended.set(locationId, ended);
    this.#deps.clock.after(SETTLE_TIMEOUT_MS, () => {
      if (this.#ended.get(locationId) === ended) this.#ended.delete(locationId);
    });
  }

  hasFormerOwner(locationId: string): boolean {
    return this.#ended.has(locationId);
  }

  /** Resolves with the milliseconds for which a call of a former owner may be in flight. Never rejects. */
  async callsEnded(locationId: string): Promise<number> {
    const until = (await this.#ended.get(locationId)) ?? -Infinity;
    return Math.max(0, until - this.#deps.clock.monotonic());
  }

  unrecordedMs(locationId: string): number {
    const until = this.#unrecorded.get(locationId) ?? -Infinity;
    return Math.max(0, until - this.#deps.clock.monotonic());
  }

  noteRejection(node: string, locationId: string, messageId: string): void {
    this.#rejecting.note(node, locationId, messageId);
  }

  /** Ends the reports of nodes that rejected a request for the message. Never rejects. */
  async endRejections(messageId: string, { locationId, epoch }: Lease): Promise<void> {
    const { bus } = this.#deps;
    const request = { locationId, epoch, messageId };
    const nodes = this.#rejecting.take(locationId, messageId);
    // A node that does not respond is awaited as long as a call that it has begun may be in flight.
    await Promise.allSettled(nodes.map((node) => bus.endCalls(node, request, CALL_TIMEOUT_MS)));
  }

  async #endCalls(node: string, { locationId, epoch }: Lease): Promise<number> {
    const { bus, clock } = this.#deps;
    const boundAt = clock.monotonic();
    const ended = await bus.endCalls(node, { locationId, epoch }, SETTLE_TIMEOUT_MS).catch(() => undefined);
    this.#noteUnrecorded(locationId, ended?.unrecordedMs ?? UNRECORDED_MS);
    return ended === undefined ? boundAt + SETTLE_TIMEOUT_MS : clock.monotonic() + ended.unsettledMs;
  }

  #noteUnrecorded(locationId: string, ms: number): void {
    if (ms <= this.unrecordedMs(locationId)) return;
    const { clock } = this.#deps;
    this.#unrecorded.set(locationId, clock.monotonic() + ms);
    clock.after(ms, () => {
      if (this.unrecordedMs(locationId) === 0) this.#unrecorded.delete(locationId);
    });
  }
}
