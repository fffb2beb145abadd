// The Macs. Each registers for its location, reports every `send` as delivered, and receives texts on command.
import { randomUUID } from 'node:crypto';

import { now } from './clock.ts';
import { messageId } from './message-ids.ts';
import { serve } from './worker.ts';
import { WebSocketClient } from './websocket-client.ts';
import { phoneOf } from './webhook-requests.ts';

export interface Received {
  /** Milliseconds on the shared clock when message i was written to the socket. */
  readonly sentAt: Float64Array;
  readonly seconds: number;
}

interface Credentials {
  readonly locationId: string;
  readonly token: string;
  /** Whether the Mac confirms every `send`, as the agent does it. Default true. */
  readonly confirms?: boolean;
}

class Mac {
  readonly locationId: string;
  readonly registered: Promise<void>;
  readonly #socket: WebSocketClient;
  readonly #fleet: Fleet;
  readonly #confirms: boolean;
  readonly #onAck = new Map<number, () => void>();
  #seq = 0;

  constructor(url: string, credentials: Credentials, fleet: Fleet) {
    this.locationId = credentials.locationId;
    this.#fleet = fleet;
    this.#confirms = credentials.confirms ?? true;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.registered = promise;
    this.#socket = new WebSocketClient(
      url,
      { 'Sec-WebSocket-Protocol': 'footbridge.v1', Authorization: `Bearer ${credentials.token}` },
      {
        opened: () =>
          this.#socket.send(
            JSON.stringify({
              type: 'register',
              locationId: this.locationId,
              agent: { version: '0.1.0' },
              os: { name: 'macOS', version: '26.1' },
              capabilities: this.#confirms ? ['received'] : [],
            }),
          ),
        text: (text) => this.#handle(JSON.parse(text), resolve),
        lost: (reason) => {
          const error = new Error(`The Mac of ${this.locationId} lost its connection: ${reason}.`);
          reject(error);
          fleet.fail(error);
        },
      },
    );
  }

  #handle(frame: ServiceFrame, onRegistered: () => void): void {
    if (frame.type === 'ack') {
      const done = this.#onAck.get(frame.seq);
      this.#onAck.delete(frame.seq);
      if (frame.outcome === 'delivered') done?.();
      else
        this.#fleet.fail(
          new Error(`A frame was acknowledged as ${frame.outcome}: ${frame.reason ?? 'no reason'}.`),
        );
    } else if (frame.type === 'send') this.#deliver(frame);
    else if (frame.type === 'registered') onRegistered();
  }

  #deliver(frame: SendFrame): void {
    const { reportAfterMs } = this.#fleet;
    if (this.#confirms) this.#socket.send(JSON.stringify({ type: 'received', requestId: frame.requestId }));
    if (reportAfterMs === 0) this.#report(frame);
    else setTimeout(() => this.#report(frame), reportAfterMs);
  }

  #report({ requestId, messageId: id }: SendFrame): void {
    const seq = ++this.#seq;
    this.#onAck.set(seq, () => this.#fleet.statusAcked());
    this.#socket.send(
      JSON.stringify({
        type: 'message_status',
        seq,
        requestId,
        messageId: id,
        status: 'delivered',
        guid: `sent-${id}`,
      }),
    );
  }

  receive(run: number, index: number, acked: () => void): void {
    const sender = phoneOf(this.locationId);
    const seq = ++this.#seq;
    this.#onAck.set(seq, acked);
    this.#socket.send(
      JSON.stringify({
        type: 'message_received',
        seq,
        guid: randomUUID().toUpperCase(),
        sender,
        service: 'iMessage',
        text: `${messageId(run, index)} Thank you, Thursday at ten suits me well. See you then!`,
        sentAt: new Date().toISOString(),
        chat: { id: 1, isGroup: false, recipients: [sender] },
        attachments: [],
      }),
    );
  }

  end(): void {
    this.#socket.end();
  }
}

type SendFrame = { type: 'send'; requestId: string; messageId: string };
type ServiceFrame =
  | SendFrame
  | { type: 'registered' }
  | { type: 'ack'; seq: number; outcome: string; reason?: string };

/** All Macs of one candidate. */
class Fleet {
  /** The simulated time that a Mac takes to send a text. */
  reportAfterMs = 0;
  readonly #macs: Mac[] = [];
  #error: Error | undefined;
  #onError = (_error: Error): void => undefined;
  #acked = 0;
  #expected = 0;
  #allAcked = (): void => undefined;

  async connect(url: string, all: readonly Credentials[]): Promise<void> {
    const batchSize = 100;
    for (let from = 0; from < all.length; from += batchSize) {
      const batch = all.slice(from, from + batchSize).map((credentials) => new Mac(url, credentials, this));
      this.#macs.push(...batch);
      await Promise.all(batch.map((mac) => mac.registered));
    }
  }

  fail(error: Error): void {
    this.#error ??= error;
    this.#onError(error);
  }

  statusAcked(): void {
    this.#acked++;
    if (this.#acked === this.#expected) this.#allAcked();
  }

  expectStatuses(count: number, reportAfterMs: number): void {
    this.reportAfterMs = reportAfterMs;
    this.#acked = 0;
    this.#expected = count;
  }

  async statusesDone(withinMs: number): Promise<void> {
    const progress = () =>
      `${this.#acked} of ${this.#expected} statuses were acknowledged in ${withinMs} ms.`;
    await this.#race(withinMs, progress, (resolve) => {
      if (this.#acked >= this.#expected) resolve();
      else this.#allAcked = resolve;
    });
  }

  async receive(run: number, count: number, load: LoadModel): Promise<Received> {
    const sentAt = new Float64Array(count);
    const started = now();
    let next = 0;
    let acked = 0;
    const withinMs = 60_000;
    await this.#race(
      withinMs,
      () => `${acked} of ${count} received messages were acknowledged in ${withinMs} ms.`,
      (resolve) => {
        const receiveNext = () => {
          if (next === count) return;
          const index = next++;
          sentAt[index] = now();
          this.#macs[index % this.#macs.length]?.receive(run, index, () => {
            acked++;
            if (acked === count) resolve();
            else if ('concurrency' in load) receiveNext();
          });
        };
        if ('concurrency' in load) {
          for (let slot = 0; slot < load.concurrency; slot++) receiveNext();
          return;
        }
        const timer = setInterval(() => {
          const due = Math.floor(((now() - started) / 1000) * load.rate);
          while (next < Math.min(due, count)) receiveNext();
          if (next === count) clearInterval(timer);
        }, 1);
      },
    );
    return { sentAt, seconds: (now() - started) / 1000 };
  }

  async #race(withinMs: number, progress: () => string, start: (resolve: () => void) => void): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#onError = reject;
    const timer = setTimeout(() => reject(new Error(progress())), withinMs);
    start(resolve);
    await promise.finally(() => clearTimeout(timer));
  }

  end(): void {
    for (const mac of this.#macs) mac.end();
  }
}

/** A closed loop over all Macs, or a fixed number of messages per second. */
export type LoadModel = { readonly concurrency: number } | { readonly rate: number };

const fleets = new Map<string, Fleet>();

function fleetOf(name: string): Fleet {
  const fleet = fleets.get(name);
  if (fleet === undefined) throw new Error(`No Macs are connected to ${name}.`);
  return fleet;
}

const calls = {
  async connect(name: string, url: string, all: Credentials[]) {
    const fleet = fleets.get(name) ?? new Fleet();
    fleets.set(name, fleet);
    await fleet.connect(url, all);
  },
  expectStatuses: (name: string, count: number, reportAfterMs: number) =>
    fleetOf(name).expectStatuses(count, reportAfterMs),
  statusesDone: (name: string, withinMs: number) => fleetOf(name).statusesDone(withinMs),
  receive: (name: string, run: number, count: number, load: LoadModel) =>
    fleetOf(name).receive(run, count, load),
  disconnect(name: string) {
    fleets.get(name)?.end();
    fleets.delete(name);
  },
};

export type MacsCalls = typeof calls;

serve(calls);
