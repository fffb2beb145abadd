// The load generator: sends signed webhooks over keep-alive connections, in a closed loop or at a fixed rate.
import { createPrivateKey } from 'node:crypto';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { constants, getPriority, setPriority } from 'node:os';

import { now } from './clock.ts';
import { HttpMessages } from './http-messages.ts';
import { serve } from './worker.ts';
import { webhookRequest } from './webhook-requests.ts';
import type { Kind } from './webhook-requests.ts';

export interface LoadResult {
  /** Milliseconds on the shared clock when request i was written. */
  readonly sentAt: Float64Array;
  /** Milliseconds until its response was read. */
  readonly latencyMs: Float64Array;
  /** The number of responses by HTTP status. */
  readonly statuses: Record<string, number>;
  readonly seconds: number;
}

/** One connection with at most one request in flight. */
class Sender {
  readonly #socket: Socket;
  #done: ((status: string) => void) | undefined;

  constructor(address: { host: string; port: number }, onError: (error: Error) => void) {
    this.#socket = connect({ ...address, noDelay: true });
    const messages = new HttpMessages((head) => {
      const done = this.#done;
      this.#done = undefined;
      done?.(head.slice(9, 12));
    });
    this.#socket.on('data', (chunk) => messages.push(chunk));
    this.#socket.on('error', onError);
    this.#socket.on('close', () => {
      if (this.#done !== undefined)
        onError(new Error('The service closed a connection instead of responding.'));
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

/** Distributes the connections over the URLs. */
function sendAll(urls: readonly string[], drive: (queue: RequestQueue) => void): Promise<LoadResult> {
  const sentAt = new Float64Array(requests.length);
  const latencyMs = new Float64Array(requests.length);
  const statuses: Record<string, number> = {};
  const senders: Sender[] = [];
  const started = now();
  let next = 0;
  let completed = 0;
  return new Promise<LoadResult>((resolve, reject) => {
    const queue: RequestQueue = {
      remaining: () => requests.length - next,
      newSender() {
        const { hostname, port } = new URL(urls[senders.length % urls.length] ?? '');
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
          latencyMs[index] = now() - (sentAt[index] ?? 0);
          statuses[status] = (statuses[status] ?? 0) + 1;
          completed++;
          if (completed === requests.length)
            resolve({ sentAt, latencyMs, statuses, seconds: (now() - started) / 1000 });
          else after(sender);
        });
      },
    };
    drive(queue);
  }).finally(() => {
    for (const sender of senders) sender.end();
  });
}

interface RequestQueue {
  remaining(): number;
  newSender(): Sender;
  sendNext(sender: Sender, after: (sender: Sender) => void): void;
}

const calls = {
  /** Builds and signs the next requests, round robin over the locations. */
  prepare(batch: { run: number; count: number; locations: string[]; kind: Kind; privateKey: string }) {
    const key = createPrivateKey(batch.privateKey);
    requests = Array.from({ length: batch.count }, (_, index) => {
      const locationId = batch.locations[index % batch.locations.length] ?? '';
      return webhookRequest({ run: batch.run, index, locationId, kind: batch.kind }, key);
    });
  },

  /** Uses `concurrency` connections, each of which sends its next request after the previous response. */
  closedLoop(url: string | readonly string[], concurrency: number): Promise<LoadResult> {
    return sendAll([url].flat(), (queue) => {
      const sendAgain = (sender: Sender) => queue.sendNext(sender, sendAgain);
      for (let count = 0; count < concurrency && queue.remaining() > 0; count++) sendAgain(queue.newSender());
    });
  },

  /** Sends `rate` requests per second (open loop): slow responses open more connections and do not delay other requests. */
  fixedRate(url: string, rate: number): Promise<LoadResult> {
    preferThisProcess(true);
    return sendAll([url], (queue) => {
      const idle: Sender[] = [];
      const started = now();
      let sent = 0;
      const timer = setInterval(() => {
        const due = Math.floor(((now() - started) / 1000) * rate);
        for (; sent < due && queue.remaining() > 0; sent++) {
          queue.sendNext(idle.pop() ?? queue.newSender(), (sender) => idle.push(sender));
        }
        if (queue.remaining() === 0) clearInterval(timer);
      }, 1);
    }).finally(() => preferThisProcess(false));
  },
};

const USUAL_PRIORITY = getPriority();

/** The CRM and the Macs run on the same core: without priority, the latency would include the time that this process waits for it. */
function preferThisProcess(isPreferred: boolean): void {
  try {
    setPriority(isPreferred ? constants.priority.PRIORITY_HIGHEST : USUAL_PRIORITY);
  } catch (error) {
    if (isPreferred) console.log('note: latencies include waits of the load generator:', error);
  }
}

export type LoadCalls = typeof calls;

serve(calls);
