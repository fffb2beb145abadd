import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { LinkedList } from '@footbridge/runtime/linked-list';
import type { ListNode } from '@footbridge/runtime/linked-list';

import type { SlotLimits, Budget } from '../budgets.ts';

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

/** Smaller bodies are not counted: real webhooks have a few kilobytes, and the slots bound their number. */
const MIN_COUNTED = 16_384;

/** Bounds the memory of large bodies that are read at the same time, before anything about their senders is known. */
export class BodyMemory {
  readonly #maxBytes: number;
  readonly #bodies = new Map<IncomingMessage, number>();
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Notes the size of a body so far. Over the limit, the largest incomplete body is dropped with its connection. */
  grow(request: IncomingMessage, response: ServerResponse, size: number): void {
    if (size < MIN_COUNTED) return;
    const before = this.#bodies.get(request);
    if (before === undefined) response.once('close', () => this.#release(request));
    this.#bodies.set(request, size);
    this.#held += size - (before ?? 0);
    if (this.#held > this.#maxBytes) this.#dropLargest();
  }

  #dropLargest(): void {
    let largest: IncomingMessage | undefined;
    for (const [request, size] of this.#bodies)
      if (!request.complete && size > (largest === undefined ? 0 : (this.#bodies.get(largest) ?? 0)))
        largest = request;
    if (largest === undefined) return;
    this.#release(largest);
    largest.destroy();
  }

  #release(request: IncomingMessage): void {
    this.#held -= this.#bodies.get(request) ?? 0;
    this.#bodies.delete(request);
  }
}

/** A body may have this many parts of any size. With more, their average size must be at least `MIN_AVERAGE_BYTES`. */
const MAX_SMALL_PARTS = 256;
const MIN_AVERAGE_BYTES = 256;
/** A smaller body cannot have enough parts to matter. */
const MIN_CHECKED_LENGTH = 65_536;

/**
 * Disconnects a client that sends its body in tiny parts (T28). Each part costs an event and an object, whatever its size: a megabyte in
 * one-byte chunks takes seconds of CPU time and more than a hundred megabytes of memory, before the client is authenticated.
 */
export function boundBodyParts(request: IncomingMessage): void {
  const { headers } = request;
  const isChecked =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length']) >= MIN_CHECKED_LENGTH;
  if (!isChecked) return;
  let [parts, bytes, isCut] = [0, 0, false];
  const push = request.push.bind(request);
  // Node's HTTP parser calls `push` for each part, before any reader sees the part.
  request.push = (part: unknown, encoding?: BufferEncoding) => {
    if (Buffer.isBuffer(part)) {
      parts++;
      bytes += part.length;
    }
    if (parts > MAX_SMALL_PARTS && bytes < parts * MIN_AVERAGE_BYTES && !isCut) {
      isCut = true;
      request.socket.destroy();
    }
    // The end of a cut body is not passed on either: the parts before the cut would look like a complete body.
    return isCut ? false : push(part, encoding);
  };
}

/** A request that holds a slot. */
export interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Kept here: an aborted request no longer references it. */
  readonly socket: Socket;
  readonly release: () => void;
  /** Its node in `#inFlight`. */
  node: ListNode<Arrival> | undefined;
  /** How long the service has waited for the client, in total and since it last moved enough bytes. */
  waitedMs: number;
  idleMs: number;
  /** How many bytes its socket had moved when a sweep last found it active; 0 before. */
  movedBytes: number;
}

/** The requests of one kind, within their budget (T27, T28, T52). */
export class RequestBudget {
  readonly #budget: Budget;
  readonly #slots: Slots;
  readonly #inFlight = new LinkedList<Arrival>();
  /** Requests that were answered before their bodies were complete. */
  readonly #incomplete = new Set<Arrival>();

  constructor(budget: Budget) {
    this.#budget = budget;
    this.#slots = new Slots(budget.slots);
  }

  get countsAddresses(): boolean {
    return this.#budget.slots.perAddress !== undefined;
  }

  /** Takes a slot for the request, or returns the limit that does not allow it. */
  begin(
    request: IncomingMessage,
    response: ServerResponse,
    address: string | undefined,
  ): Arrival | Scope | 'total' {
    const holder = address === undefined ? {} : { address };
    if (this.#slots.isFull && this.#budget.dropsIncomplete) this.#dropOldest();
    const release = this.#slots.enter(holder);
    if (typeof release === 'string') return release;
    const arrival: Arrival = {
      request,
      response,
      socket: request.socket,
      release,
      node: undefined,
      waitedMs: 0,
      idleMs: 0,
      movedBytes: 0,
    };
    arrival.node = this.#inFlight.add(arrival);
    return arrival;
  }

  end(arrival: Arrival): void {
    this.#release(arrival);
    if (!arrival.request.complete) this.#incomplete.add(arrival);
  }

  /** Disconnects the clients that keep the service waiting for too long. To be called every `ms`. */
  sweep(ms: number): void {
    for (const arrival of this.#inFlight.toArray()) this.#check(arrival, ms);
    for (const arrival of this.#incomplete)
      if (arrival.request.complete || arrival.socket.destroyed) this.#incomplete.delete(arrival);
      else this.#check(arrival, ms);
  }

  #check(arrival: Arrival, ms: number): void {
    const { request, socket } = arrival;
    if (request.complete && socket.writableLength === 0) {
      arrival.idleMs = 0;
      return;
    }
    const { stall, maxMs } = this.#budget;
    const movedBytes = moved(socket);
    const isIdle = movedBytes - arrival.movedBytes < stall.bytes;
    arrival.waitedMs += ms;
    arrival.idleMs = isIdle ? arrival.idleMs + ms : 0;
    if (!isIdle) arrival.movedBytes = movedBytes;
    if (arrival.idleMs >= stall.ms || arrival.waitedMs >= maxMs) socket.destroy();
  }

  #dropOldest(): void {
    for (const arrival of this.#inFlight.toArray()) {
      const { request, response, socket } = arrival;
      // A finished response that is still here waits for its reader, or behind an earlier one on its socket.
      if (request.complete && !response.writableEnded) continue;
      this.#release(arrival);
      socket.destroy();
      return;
    }
  }

  #release({ node, release }: Arrival): void {
    node?.remove();
    release();
  }
}

const moved = (socket: Socket) => socket.bytesRead + socket.bytesWritten;
