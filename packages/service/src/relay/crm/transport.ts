import { afterReading } from '@footbridge/runtime/after-reading';
import type { Clock } from '@footbridge/runtime/clock';
import { LinkedList } from '@footbridge/runtime/linked-list';
import type { ListNode } from '@footbridge/runtime/linked-list';

import { Exchange } from './exchange-http.ts';
import type { HttpRequest, HttpResponse, NoResponse } from './exchange-http.ts';
import { OriginPool } from './origin-pool-http.ts';
import type { ProxyConfig } from './origin-pool-http.ts';

export type { HttpRequest, HttpResponse, NoResponse } from './exchange-http.ts';

/**
 * HTTP/1.1 to the CRM with keep-alive. One deadline covers the whole exchange, including the wait for a free connection. Follows no
 * redirects, never retries, never throws.
 */
export interface Transport {
  send(request: HttpRequest): Promise<HttpResponse | NoResponse>;
  /** Ends exchanges in flight as if the network had failed. */
  close(): Promise<void>;
}

export interface TransportDeps {
  readonly clock: Clock;
  readonly timeoutMs?: number;
  /** Per origin. Must carry rate × 2 × latency, or status calls queue up behind each other for seconds. */
  readonly maxConnections?: number;
  readonly proxies?: ProxyConfig;
}

const SWEEP_MS = 250;
const MAX_BODY_BYTES = 256 * 1024;
const NO_PROXIES: ProxyConfig = { http: undefined, https: undefined, bypass: '' };
const VALID_PATH = /^\/[\x21-\x7e]*$/;
const INVALID_HEADER = /[^\t\x20-\x7e]/;

/** What calls to the CRM may occupy. docs/security.md shows it. */
export const CRM_CALLS = { connections: 256, timeoutMs: 10_000 } as const;

export function createTransport(deps: TransportDeps): Transport {
  return new UndiciTransport(deps);
}

class UndiciTransport implements Transport {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #maxConnections: number;
  readonly #proxies: ProxyConfig;
  readonly #pools = new Map<string, OriginPool>();
  readonly #inFlight = new LinkedList<Exchange>();
  #cancelSweep: (() => void) | undefined;
  #isClosed = false;

  constructor({
    clock,
    timeoutMs = CRM_CALLS.timeoutMs,
    maxConnections = CRM_CALLS.connections,
    proxies = NO_PROXIES,
  }: TransportDeps) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#maxConnections = maxConnections;
    this.#proxies = proxies;
  }

  send(request: HttpRequest): Promise<HttpResponse | NoResponse> {
    return new Promise((resolve) => {
      let leave: (() => void) | undefined;
      let node: ListNode<Exchange> | undefined;
      const { timeoutMs = this.#timeoutMs, wantsBody = false, maxBodyBytes = MAX_BODY_BYTES } = request;
      const exchange = new Exchange(this.#clock, timeoutMs, wantsBody, maxBodyBytes, (result) => {
        node?.remove();
        leave?.();
        resolve(result);
      });
      const pool = isValid(request) ? this.#poolFor(request.origin) : undefined;
      if (pool === undefined) return exchange.fail('network', 'INVALID_REQUEST');
      node = this.#inFlight.add(exchange);
      this.#cancelSweep ??= this.#clock.after(SWEEP_MS, this.#sweep);
      leave = pool.dispatch(request, exchange);
      if (exchange.isSettled) leave();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelSweep?.();
    for (const exchange of this.#inFlight.toArray())
      if (!exchange.isStarted) exchange.fail('network', 'CLOSED');
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  #poolFor(origin: string): OriginPool | undefined {
    const known = this.#isClosed ? undefined : this.#pools.get(origin);
    const url = known === undefined && !this.#isClosed ? URL.parse(origin) : null;
    if (url === null || !/^https?:$/.test(url.protocol)) return known;
    const pool = new OriginPool(url, this.#maxConnections, this.#proxies, this.#clock);
    this.#pools.set(origin, pool);
    return pool;
  }

  /** One sweep over all exchanges replaces the two timers per request that undici would keep. */
  readonly #sweep = (): void => {
    this.#cancelSweep =
      this.#inFlight.oldest !== undefined ? this.#clock.after(SWEEP_MS, this.#sweep) : undefined;
    afterReading(() => {
      for (const exchange of this.#inFlight.toArray()) exchange.checkDeadline();
    });
  };
}

/** undici rejects line breaks itself; this also keeps non-ASCII bytes off the wire, which servers decode in different ways. */
const isValid = ({ path, headers }: HttpRequest) =>
  VALID_PATH.test(path) && !INVALID_HEADER.test(headers.join(''));
