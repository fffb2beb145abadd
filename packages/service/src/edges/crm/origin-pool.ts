import { setMaxListeners } from 'node:events';

import { Pool } from 'undici';
import type { Dispatcher } from 'undici';

import type { Exchange } from './exchange.ts';
import type { HttpRequest } from './transport.ts';

const MAX_HEADER_BYTES = 65_536;
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;
/** A connection is dropped this long before the server would close it, so that no request meets the close. */
const KEEP_ALIVE_MARGIN_MS = 2000;
/** A larger body may still be partly unsent when the response arrives; the next request would have to wait behind the rest. */
const MAX_REUSED_BODY_BYTES = 65_536;

/** The connections to one origin. */
export class OriginPool {
  readonly #dispatcher: Dispatcher;
  /** undici leaves sockets alone that are still connecting when it is destroyed. */
  readonly #closing = new AbortController();

  constructor(origin: string, maxConnections: number) {
    setMaxListeners(0, this.#closing.signal);
    this.#dispatcher = new Pool(origin, {
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
      connect: { timeout: CONNECT_TIMEOUT_MS, signal: this.#closing.signal },
    });
  }

  dispatch(request: HttpRequest, exchange: Exchange): void {
    const { method, path, body = null } = request;
    const headers = ['user-agent', 'footbridge', ...request.headers];
    const reset = body !== null && body.length > MAX_REUSED_BODY_BYTES;
    this.#dispatcher.dispatch({ method, path, headers, body, reset }, exchange);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#dispatcher.destroy();
  }
}
