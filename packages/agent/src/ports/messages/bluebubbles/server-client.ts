import type { Clock } from '@footbridge/runtime/clock';
import { errorCode } from '@footbridge/runtime/error-code';
import { Agent, FormData, request } from 'undici';

import { readText } from './read-text.ts';

/** The result of a call to BlueBubbles. */
export type Reply =
  /** No connection was made, so the server did not get the call. */
  | { readonly kind: 'unreachable' }
  /** The server may have carried the call out. */
  | {
      readonly kind: 'lost';
      readonly why: 'closed' | 'not_http' | 'timeout' | 'too_large' | 'not_json';
      /** The HTTP status, if there was one. */
      readonly status?: number;
    }
  | {
      readonly kind: 'reply';
      readonly status: number;
      /** `error.message`. Never passed on, because it can contain numbers and GUIDs. */
      readonly error: string;
      readonly data: unknown;
    };

export interface ServerClientOptions {
  /** `http://` and a loopback address. */
  readonly url: string;
  readonly password: string;
  readonly clock: Clock;
}

const CONNECT_TIMEOUT_MS = 5_000;
const MAX_REPLY_BYTES = 1_000_000;
/** The codes of errors that occur before a connection exists. */
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EADDRNOTAVAIL',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** The HTTP API of a BlueBubbles server. One attempt per call; never rejects. */
export class ServerClient {
  readonly #options: ServerClientOptions;
  // The server may close a kept-alive connection just as the next call is sent; the outcome of that call would be unknown.
  readonly #dispatcher = new Agent({ pipelining: 0, connect: { timeout: CONNECT_TIMEOUT_MS } });

  constructor(options: ServerClientOptions) {
    this.#options = options;
  }

  get(path: string, timeoutMs: number): Promise<Reply> {
    return this.#call('GET', path, timeoutMs);
  }

  post(path: string, fields: object, timeoutMs: number): Promise<Reply> {
    return this.#call('POST', path, timeoutMs, JSON.stringify(fields));
  }

  upload(path: string, fields: Readonly<Record<string, string | File>>, timeoutMs: number): Promise<Reply> {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    return this.#call('POST', path, timeoutMs, form);
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #call(
    method: 'GET' | 'POST',
    path: string,
    timeoutMs: number,
    body: string | FormData | null = null,
  ): Promise<Reply> {
    const { url, password, clock } = this.#options;
    const deadline = new AbortController();
    const cancel = clock.after(timeoutMs, () => deadline.abort());
    try {
      // The server reads the password from the query only.
      const response = await request(`${url}/api/v1${path}?password=${encodeURIComponent(password)}`, {
        method,
        body,
        ...(typeof body === 'string' && { headers: { 'content-type': 'application/json' } }),
        dispatcher: this.#dispatcher,
        signal: deadline.signal,
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      const { statusCode: status, headers } = response;
      const text = await readText(response.body, headers['content-encoding'], MAX_REPLY_BYTES);
      return text === undefined ? { kind: 'lost', why: 'too_large', status } : parseReply(status, text);
    } catch (error) {
      if (deadline.signal.aborted) return { kind: 'lost', why: 'timeout' };
      const code = errorCode(error) ?? '';
      if (NOT_CONNECTED.has(code)) return { kind: 'unreachable' };
      return { kind: 'lost', why: code.startsWith('HPE_') ? 'not_http' : 'closed' };
    } finally {
      cancel();
    }
  }
}

function parseReply(status: number, text: string): Reply {
  const lost: Reply = { kind: 'lost', why: 'not_json', status };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return lost;
  }
  if (typeof json !== 'object' || json === null || !('status' in json) || json.status !== status) return lost;
  const error = 'error' in json && typeof json.error === 'object' && json.error !== null ? json.error : {};
  const message = 'message' in error && typeof error.message === 'string' ? error.message : '';
  return { kind: 'reply', status, error: message, data: 'data' in json ? json.data : undefined };
}
