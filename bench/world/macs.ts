// The Macs: each bound to its location, reporting every `send` as delivered at once, and receiving texts on command.
import { randomUUID } from 'node:crypto';

import { now } from './clock.ts';
import { messageId } from './message-ids.ts';
import { serve } from './part.ts';
import { SocketLine } from './socket-line.ts';
import { phoneOf } from './webhook-requests.ts';

export interface Received {
  /** Milliseconds on the shared clock when message i was written to the socket. */
  readonly sentAt: Float64Array;
  readonly seconds: number;
}

interface Credentials {
  readonly locationId: string;
  readonly token: string;
}

class Mac {
  readonly locationId: string;
  readonly bound: Promise<void>;
  readonly #line: SocketLine;
  readonly #fleet: Fleet;
  readonly #onAck = new Map<number, () => void>();
  #seq = 0;

  constructor(url: string, credentials: Credentials, fleet: Fleet) {
    this.locationId = credentials.locationId;
    this.#fleet = fleet;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.bound = promise;
    this.#line = new SocketLine(
      url,
      { 'Sec-WebSocket-Protocol': 'footbridge.v1', Authorization: `Bearer ${credentials.token}` },
      {
        opened: () =>
          this.#line.send(
            JSON.stringify({
              type: 'register',
              locationId: this.locationId,
              agent: { version: '0.1.0' },
              os: { name: 'macOS', version: '26.1' },
              capabilities: [],
            }),
          ),
        text: (text) => this.#take(JSON.parse(text), resolve),
        lost: (why) => {
          const error = new Error(`The Mac of ${this.locationId} was lost: ${why}.`);
          reject(error);
          fleet.fail(error);
        },
      },
    );
  }

  #take(frame: ServiceFrame, registered: () => void): void {
    if (frame.type === 'ack') {
      const done = this.#onAck.get(frame.seq);
      this.#onAck.delete(frame.seq);
      if (frame.outcome === 'delivered') done?.();
      else
        this.#fleet.fail(new Error(`A frame was answered ${frame.outcome}: ${frame.reason ?? 'no reason'}.`));
    } else if (frame.type === 'send') this.#deliver(frame);
    else if (frame.type === 'registered') registered();
  }

  #deliver(frame: SendFrame): void {
    const { reportAfterMs } = this.#fleet;
    if (reportAfterMs === 0) this.#report(frame);
    else setTimeout(() => this.#report(frame), reportAfterMs);
  }

  #report({ requestId, messageId: id }: SendFrame): void {
    const seq = ++this.#seq;
    this.#onAck.set(seq, () => this.#fleet.statusAcked());
    this.#line.send(
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
    this.#line.send(
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
    this.#line.end();
  }
}

type SendFrame = { type: 'send'; requestId: string; messageId: string };
type ServiceFrame =
  | SendFrame
  | { type: 'registered' }
  | { type: 'ack'; seq: number; outcome: string; reason?: string };

/** All Macs of one contestant. */
class Fleet {
  /** How long a Mac takes to send a text. */
  reportAfterMs = 0;
  readonly #macs: Mac[] = [];
  #failure: Error | undefined;
  #failed = (_error: Error): void => undefined;
  #acked = 0;
  #expected = 0;
  #allAcked = (): void => undefined;

  async connect(url: string, all: readonly Credentials[]): Promise<void> {
    const atOnce = 100;
    for (let from = 0; from < all.length; from += atOnce) {
      const batch = all.slice(from, from + atOnce).map((one) => new Mac(url, one, this));
      this.#macs.push(...batch);
      await Promise.all(batch.map((mac) => mac.bound));
    }
  }

  fail(error: Error): void {
    this.#failure ??= error;
    this.#failed(error);
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
    const what = () => `${this.#acked} of ${this.#expected} statuses were acknowledged in ${withinMs} ms.`;
    await this.#race(withinMs, what, (resolve) => {
      if (this.#acked >= this.#expected) resolve();
      else this.#allAcked = resolve;
    });
  }

  async receive(run: number, count: number, pace: Pace): Promise<Received> {
    const sentAt = new Float64Array(count);
    const begun = now();
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
            else if ('concurrency' in pace) receiveNext();
          });
        };
        if ('concurrency' in pace) {
          for (let one = 0; one < pace.concurrency; one++) receiveNext();
          return;
        }
        const timer = setInterval(() => {
          const due = Math.floor(((now() - begun) / 1000) * pace.rate) - next;
          for (let one = 0; one < due; one++) receiveNext();
          if (next === count) clearInterval(timer);
        }, 1);
      },
    );
    return { sentAt, seconds: (now() - begun) / 1000 };
  }

  async #race(withinMs: number, what: () => string, start: (resolve: () => void) => void): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#failed = reject;
    const timer = setTimeout(() => reject(new Error(what())), withinMs);
    start(resolve);
    await promise.finally(() => clearTimeout(timer));
  }

  end(): void {
    for (const mac of this.#macs) mac.end();
  }
}

/** In a closed loop over all Macs, or so many a second whatever the service does. */
export type Pace = { readonly concurrency: number } | { readonly rate: number };

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
  receive: (name: string, run: number, count: number, pace: Pace) => fleetOf(name).receive(run, count, pace),
  disconnect(name: string) {
    fleets.get(name)?.end();
    fleets.delete(name);
  },
};

export type MacsCalls = typeof calls;

serve(calls);
