import { setMaxListeners } from 'node:events';

import { EnvHttpProxyAgent, Pool } from 'undici';
import type { Dispatcher } from 'undici';

import type { Clock } from '@footbridge/runtime/clock';
import { FairSlots } from '@footbridge/runtime/fair-slots';

import type { Exchange, HttpRequest } from './exchange-http.ts';

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
