// The CRM's sending side: signed webhooks over keep-alive connections, in a closed loop or at a fixed rate.
import { createPrivateKey } from 'node:crypto';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { now } from './clock.ts';
import { HttpMessages } from './http-messages.ts';
import { serve } from './part.ts';
import { webhookRequest } from './webhook-requests.ts';
import type { Kind } from './webhook-requests.ts';

export interface Fired {
  /** Milliseconds on the shared clock when request i was written. */
  readonly sentAt: Float64Array;
  /** Milliseconds until its answer was read. */
  readonly tookMs: Float64Array;
  /** How many answers had which HTTP status. */
  readonly statuses: Record<string, number>;
  readonly seconds: number;
}

/** One connection, one request under way at a time. */
class Sender {
  readonly #socket: Socket;
  #done: ((status: string) => void) | undefined;

  constructor(address: { host: string; port: number }, onFault: (error: Error) => void) {
    this.#socket = connect({ ...address, noDelay: true });
    const messages = new HttpMessages((head) => {
      const done = this.#done;
      this.#done = undefined;
      done?.(head.slice(9, 12));
    });
    this.#socket.on('data', (chunk) => messages.push(chunk));
    this.#socket.on('error', onFault);
    this.#socket.on('close', () => {
      if (this.#done !== undefined)
        onFault(new Error('The service closed a connection instead of answering.'));
    });
  }

  send(request: Buffer, done: (status: string) => void): void {
    this.#done = done;
    this.#socket.write(request);
  }

  end(): void {
    this.#socket.destroy();
  }
}

let requests: Buffer[] = [];

function fire(url: string, drive: (volley: Volley) => void): Promise<Fired> {
  const { hostname, port } = new URL(url);
  const sentAt = new Float64Array(requests.length);
  const tookMs = new Float64Array(requests.length);
  const statuses: Record<string, number> = {};
  const senders: Sender[] = [];
  const begun = now();
  let next = 0;
  let answered = 0;
  return new Promise<Fired>((resolve, reject) => {
    const volley: Volley = {
      left: () => requests.length - next,
      newSender() {
        const sender = new Sender({ host: hostname, port: Number(port) }, reject);
        senders.push(sender);
        return sender;
      },
      sendNext(sender, after) {
        const index = next++;
        const request = requests[index];
        if (request === undefined) return;
        sentAt[index] = now();
        sender.send(request, (status) => {
          tookMs[index] = now() - (sentAt[index] ?? 0);
          statuses[status] = (statuses[status] ?? 0) + 1;
          answered++;
          if (answered === requests.length)
            resolve({ sentAt, tookMs, statuses, seconds: (now() - begun) / 1000 });
          else after(sender);
        });
      },
    };
    drive(volley);
  }).finally(() => {
    for (const sender of senders) sender.end();
  });
}

interface Volley {
  left(): number;
  newSender(): Sender;
  sendNext(sender: Sender, after: (sender: Sender) => void): void;
}

const calls = {
  /** Builds and signs the next requests. Locations take turns. */
  prepare(what: { run: number; count: number; locations: string[]; kind: Kind; privateKey: string }) {
    const key = createPrivateKey(what.privateKey);
    requests = Array.from({ length: what.count }, (_, index) => {
      const locationId = what.locations[index % what.locations.length] ?? '';
      return webhookRequest({ run: what.run, index, locationId, kind: what.kind }, key);
    });
  },

  /** `concurrency` connections, each sending again as soon as it has its answer. */
  closedLoop(url: string, concurrency: number): Promise<Fired> {
    return fire(url, (volley) => {
      const again = (sender: Sender) => volley.sendNext(sender, again);
      for (let one = 0; one < concurrency && volley.left() > 0; one++) again(volley.newSender());
    });
  },

  /** `rate` requests a second whatever the service does: none waits for another, slow answers open more connections. */
  fixedRate(url: string, rate: number): Promise<Fired> {
    return fire(url, (volley) => {
      const idle: Sender[] = [];
      const begun = now();
      let sent = 0;
      const timer = setInterval(() => {
        const due = Math.floor(((now() - begun) / 1000) * rate);
        for (; sent < due && volley.left() > 0; sent++) {
          volley.sendNext(idle.pop() ?? volley.newSender(), (sender) => idle.push(sender));
        }
        if (volley.left() === 0) clearInterval(timer);
      }, 1);
    });
  },
};

export type LoadCalls = typeof calls;

serve(calls);
