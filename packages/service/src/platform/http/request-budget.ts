import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { LinkedList } from '@footbridge/runtime/linked-list';
import type { ListNode } from '@footbridge/runtime/linked-list';

import type { Budget } from '../budgets.ts';
import { Slots } from '../slots.ts';
import type { Scope } from '../slots.ts';

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
