import { Agent } from 'undici';
import type { Dispatcher } from 'undici';

import type { Clock } from '../../clock.ts';

export interface Outgoing {
  readonly origin: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body?: string | Buffer;
  /** The body of a 2xx is thrown away unless it is wanted. */
  readonly wantsBody?: boolean;
  readonly timeoutMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** No answer came. `sent` is false when the request certainly never left this machine. */
export interface NoAnswer {
  readonly status: 0;
  readonly reason: 'timeout' | 'network' | 'answer_too_large';
  readonly sent: boolean;
}

/**
 * HTTP to the CRM on one Agent: keep-alive, HTTP/1.1, no redirects, one deadline over the whole exchange (waiting for a free
 * connection included). Never throws, never retries.
 */
export interface Transport {
  send(request: Outgoing): Promise<Answer | NoAnswer>;
  /** Ends what is under way, as if the network had failed. */
  close(): Promise<void>;
}

export interface TransportOptions {
  readonly clock: Clock;
  readonly timeoutMs?: number;
  /** Per origin. Must carry rate × 2 × latency, or status calls queue up behind each other for seconds. */
  readonly connections?: number;
}

const SWEEP_MS = 250;
const MAX_ANSWER_BYTES = 256 * 1024;

export function createTransport(options: TransportOptions): Transport {
  const { clock, timeoutMs = 10_000, connections = 256 } = options;
  const agent = new Agent({
    connections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: 30_000,
    connect: { timeout: timeoutMs },
    // One sweep over the exchanges under way replaces the two timers that undici would keep for each.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const underWay = new Set<Exchange>();
  let sweeping = false;

  function sweep(): void {
    const now = clock.monotonic();
    for (const exchange of underWay) if (exchange.deadline <= now) exchange.expire();
    sweeping = underWay.size > 0;
    if (sweeping) clock.after(SWEEP_MS, sweep);
  }

  return {
    send(request) {
      return new Promise((resolve) => {
        const deadline = clock.monotonic() + (request.timeoutMs ?? timeoutMs);
        const exchange: Exchange = new Exchange(deadline, request.wantsBody === true, (answer) => {
          underWay.delete(exchange);
          resolve(answer);
        });
        underWay.add(exchange);
        if (!sweeping) {
          sweeping = true;
          clock.after(SWEEP_MS, sweep);
        }
        agent.dispatch(request, exchange);
      });
    },
    async close() {
      await agent.destroy();
    },
  };
}

/** One request and its answer. Undici's handler itself, so that a call costs no stream. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly deadline: number;
  readonly #wantsBody: boolean;
  readonly #settle: (answer: Answer | NoAnswer) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #status = 0;
  #headers: Answer['headers'] = {};
  #chunks: Buffer[] | undefined;
  #bytes = 0;

  constructor(deadline: number, wantsBody: boolean, settle: (answer: Answer | NoAnswer) => void) {
    this.deadline = deadline;
    this.#wantsBody = wantsBody;
    this.#settle = settle;
  }

  expire(): void {
    this.#fail('timeout');
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Expired while it waited for a connection: it must not be written any more.
    if (this.#settled) return controller.abort(new Error('timeout'));
    this.#controller = controller;
  }

  onResponseStart(_controller: unknown, status: number, headers: Answer['headers']): void {
    this.#status = status;
    this.#headers = headers;
    if (this.#wantsBody || status >= 300) this.#chunks = [];
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= MAX_ANSWER_BYTES) this.#chunks?.push(chunk);
    else if (this.#chunks !== undefined) this.#fail('answer_too_large');
    else this.#enough();
  }

  onResponseEnd(): void {
    const chunks = this.#chunks;
    const text =
      chunks === undefined || chunks.length === 0
        ? ''
        : chunks.length === 1
          ? String(chunks[0])
          : Buffer.concat(chunks).toString();
    this.#end({ status: this.#status, headers: this.#headers, text });
  }

  onResponseError(): void {
    this.#fail('network');
  }

  /** A 2xx whose body nobody wants is an answer already; the rest of it is not worth the reading. */
  #enough(): void {
    this.#end({ status: this.#status, headers: this.#headers, text: '' });
    this.#controller?.abort(new Error('answer_too_large'));
  }

  #fail(reason: NoAnswer['reason']): void {
    if (this.#settled) return;
    const sent = this.#controller !== undefined;
    this.#end({ status: 0, reason, sent });
    this.#controller?.abort(new Error(reason));
  }

  #end(answer: Answer | NoAnswer): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#settle(answer);
  }
}
