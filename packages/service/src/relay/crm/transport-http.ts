import { setMaxListeners } from 'node:events';

import { afterReading } from '@footbridge/runtime/after-reading';
import type { Clock } from '@footbridge/runtime/clock';
import { LinkedList } from '@footbridge/runtime/linked-list';
import type { ListNode } from '@footbridge/runtime/linked-list';
import { EnvHttpProxyAgent, Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { FairSlots } from '@footbridge/runtime/fair-slots';

import { Exchange } from './exchange-http.ts';
import type { HttpRequest, HttpResponse, NoResponse } from './exchange-http.ts';

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

const MAX_HEADER_BYTES = 65_536;
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;
/** A connection is dropped this long before the server would close it, so that no request meets the close. */
const KEEP_ALIVE_MARGIN_MS = 2000;
/** A larger body may still be partly unsent when the response arrives; the next request would have to wait behind the rest. */
const MAX_REUSED_BODY_BYTES = 65_536;
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Proxies for calls to the CRM, by the protocol of the call. */
export interface ProxyConfig {
  readonly http: string | undefined;
  readonly https: string | undefined;
  /** Hosts that are called directly, as `NO_PROXY` lists them. */
  readonly bypass: string;
}

/** The connections to one origin, direct or through a proxy. */
export class OriginPool {
  readonly #origin: string;
  readonly #dispatcher: Dispatcher;
  /** undici leaves sockets alone that are still connecting when it is destroyed. */
  readonly #closing = new AbortController();
  /** One slot per connection: undici's own queue is first come, first served, and one slow tenant would fill it. */
  readonly #slots: FairSlots;

  constructor(url: URL, maxConnections: number, proxies: ProxyConfig, clock: Pick<Clock, 'monotonic'>) {
    this.#slots = new FairSlots(maxConnections, clock);
    setMaxListeners(0, this.#closing.signal);
    this.#origin = url.origin;
    this.#dispatcher = createDispatcher(url, maxConnections, proxies, this.#closing.signal);
  }

  /** Dispatches the request once its tenant has a connection. The returned function must be called when the exchange has ended. */
  dispatch(request: HttpRequest, exchange: Exchange): () => void {
    let release: (() => void) | undefined;
    const withdraw = this.#slots.enter(request.tenant ?? '', (granted) => {
      release = granted;
      this.#send(request, exchange);
    });
    return () => {
      withdraw();
      release?.();
    };
  }

  #send(request: HttpRequest, exchange: Exchange): void {
    const { method, path, body = null } = request;
    const headers = ['user-agent', 'footbridge', 'accept-encoding', 'identity', ...request.headers];
    const reset = body !== null && body.length > MAX_REUSED_BODY_BYTES;
    const options = { origin: this.#origin, method, path, headers, body, reset };
    exchange.start((handler) => void this.#dispatcher.dispatch(options, handler));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#dispatcher.destroy();
  }
}

function createDispatcher(
  { origin, protocol, hostname }: URL,
  maxConnections: number,
  proxies: ProxyConfig,
  signal: AbortSignal,
): Dispatcher {
  const connect = { timeout: CONNECT_TIMEOUT_MS, signal };
  const options: Pool.Options = {
    connections: maxConnections,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    // The transport enforces one deadline for the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect,
  };
  const isSecure = protocol === 'https:';
  const proxy = isSecure ? proxies.https : proxies.http;
  if (proxy === undefined || LOOPBACK.test(hostname)) return new Pool(origin, options);
  return new EnvHttpProxyAgent({
    ...options,
    // Empty strings keep undici from reading the environment, and from using HTTP_PROXY for https.
    httpProxy: isSecure ? '' : proxy,
    httpsProxy: isSecure ? proxy : '',
    noProxy: proxies.bypass,
    proxyTls: connect,
    // A proxy that does not respond to CONNECT must not hold a connection for undici's default of five minutes.
    clientFactory: (target, given) => new Pool(target, { ...given, headersTimeout: CONNECT_TIMEOUT_MS }),
    // Without tunnel undici would build the pool to the proxy without these options.
    factory: (target, given) => new Pool(target, Object.assign({}, options, given)),
  });
}
