// The Macs. Each registers for its location, reports every `send` as delivered, and receives texts on command.
import { setTimeout as sleep } from 'node:timers/promises';

import { connectMac, SocketClosedError, UpgradeError } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';

import { messageId, now, phoneOf } from './messages.ts';
import { serve } from './worker.ts';

export interface Credentials {
  readonly locationId: string;
  readonly token: string;
  /** Whether the Mac confirms every `send`, as the agent does it. Default true. */
  readonly confirms?: boolean;
  /** Whether the Mac reports every `send` as delivered. Default true. */
  readonly reports?: boolean;
}

interface ServedMac extends Credentials {
  /** The address of its service. */
  readonly url: string;
}

/** A closed loop over all Macs, or a fixed number of messages per second. */
export type LoadModel = { readonly concurrency: number } | { readonly rate: number };

interface ConnectedMac {
  receive(run: number, index: number, acked: () => void): void;
  end(): void;
}

const AT_ONCE = 100;
const WITHIN_MS = 60_000;
const RETRY_MS = 250;
const MAX_ATTEMPTS = 240;

/** All Macs of one candidate. */
class Fleet {
  readonly #all: ServedMac[] = [];
  #macs: ConnectedMac[] = [];
  /** The simulated time that a Mac takes to send a text. */
  #reportAfterMs = 0;
  #error: Error | undefined;
  #onError = (_error: Error): void => undefined;
  #acked = 0;
  #expected = 0;
  #allAcked = (): void => undefined;

  async connect(all: readonly ServedMac[], atOnce = AT_ONCE): Promise<void> {
    this.#all.push(...all);
    for (let from = 0; from < all.length; from += atOnce)
      this.#macs.push(
        ...(await Promise.all(all.slice(from, from + atOnce).map((one) => this.#connectOne(one)))),
      );
  }

  /** Drops all connections, and connects all Macs again at the same moment. */
  async reconnect(): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    this.end();
    await this.connect(this.#all.splice(0), Infinity);
  }

  async #connectOne(credentials: ServedMac): Promise<ConnectedMac> {
    const { url, locationId, token, confirms = true, reports = true } = credentials;
    const mac = await join(url, token, locationId, confirms ? ['received'] : []);
    const onAck = new Map<number, () => void>();
    const acked = () => this.#statusAcked();
    let ended = false;
    mac.onFrame = (frame) => {
      if (frame.type === 'ack') {
        const done = onAck.get(frame.seq);
        onAck.delete(frame.seq);
        if (frame.outcome === 'delivered') done?.();
        else this.#fail(`A frame was acknowledged as ${JSON.stringify(frame)}.`);
      } else if (frame.type === 'send') {
        const { requestId, messageId: id } = frame;
        const status = { requestId, messageId: id, status: 'delivered', guid: `sent-${id}` } as const;
        if (confirms) mac.confirm(requestId);
        if (!reports) return;
        if (this.#reportAfterMs === 0) onAck.set(mac.status(status), acked);
        else setTimeout(() => onAck.set(mac.status(status), acked), this.#reportAfterMs);
      }
    };
    void mac.closed.then(({ code, reason }) => {
      if (!ended) this.#fail(`The Mac of ${locationId} lost its connection: ${code} ${reason}`);
    });
    const sender = phoneOf(locationId);
    return {
      receive: (run, index, done) => {
        const text = `${messageId(run, index)} Thank you, Thursday at ten suits me well. See you then!`;
        onAck.set(mac.received({ sender, text }), done);
      },
      end: () => {
        ended = true;
        mac.terminate();
      },
    };
  }

  #fail(message: string): void {
    this.#error ??= new Error(message);
    this.#onError(this.#error);
  }

  #statusAcked(): void {
    this.#acked++;
    if (this.#acked === this.#expected) this.#allAcked();
  }

  expectStatuses(count: number, reportAfterMs: number): void {
    this.#reportAfterMs = reportAfterMs;
    this.#acked = 0;
    this.#expected = count;
  }

  statusesDone(): Promise<void> {
    return this.#race(
      () => `${this.#acked} of ${this.#expected} statuses`,
      (resolve) => {
        if (this.#acked >= this.#expected) resolve();
        else this.#allAcked = resolve;
      },
    );
  }

  /** Resolves with the time on the shared clock when message i was written to the socket. */
  async receive(run: number, count: number, load: LoadModel): Promise<Float64Array> {
    const sentAt = new Float64Array(count);
    const started = now();
    let next = 0;
    let acked = 0;
    await this.#race(
      () => `${acked} of ${count} received messages`,
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
    return sentAt;
  }

  async #race(progress: () => string, start: (resolve: () => void) => void): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#onError = reject;
    const late = () => reject(new Error(`${progress()} were acknowledged in ${WITHIN_MS} ms.`));
    const timer = setTimeout(late, WITHIN_MS);
    start(resolve);
    await promise.finally(() => clearTimeout(timer));
  }

  end(): void {
    for (const mac of this.#macs.splice(0)) mac.end();
  }
}

/** Connects and registers a Mac. Tries again until it succeeds, unless the service rejects the Mac. */
async function join(url: string, token: string, locationId: string, capabilities: string[]): Promise<Mac> {
  for (let attempt = 1; ; attempt++)
    try {
      const mac = await connectMac(url, { token });
      await mac.register(locationId, { capabilities });
      return mac;
    } catch (error) {
      const isRejected =
        (error instanceof UpgradeError && error.status === 401) ||
        (error instanceof SocketClosedError && error.code >= 4500);
      if (isRejected || attempt === MAX_ATTEMPTS) throw error;
      await sleep(RETRY_MS);
    }
}

const fleets = new Map<string, Fleet>();

function fleetOf(name: string): Fleet {
  const fleet = fleets.get(name);
  if (fleet === undefined) throw new Error(`No Macs are connected to ${name}.`);
  return fleet;
}

const calls = {
  async connect(name: string, url: string, all: readonly Credentials[], atOnce?: number) {
    const fleet = fleets.get(name) ?? new Fleet();
    fleets.set(name, fleet);
    await fleet.connect(
      all.map((one) => ({ ...one, url })),
      atOnce,
    );
  },
  reconnect: (name: string) => fleetOf(name).reconnect(),
  expectStatuses: (name: string, count: number, reportAfterMs: number) =>
    fleetOf(name).expectStatuses(count, reportAfterMs),
  statusesDone: (name: string) => fleetOf(name).statusesDone(),
  receive: (name: string, run: number, count: number, load: LoadModel) =>
    fleetOf(name).receive(run, count, load),
  disconnect(name: string) {
    fleets.get(name)?.end();
    fleets.delete(name);
  },
};

export type MacsCalls = typeof calls;

serve(calls);
