import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';

import type { Clock } from '@footbridge/runtime/clock';
import type { Dispatcher } from 'undici';

export interface HttpRequest {
  /** The tenant whose share of the connections this request uses; undefined for requests of the service itself. */
  readonly tenant?: string | undefined;
  readonly origin: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body?: string | Buffer | undefined;
  /** The body of a 2xx is discarded unless it is wanted. */
  readonly wantsBody?: boolean;
  /** A larger body is a failure. Default 256 KiB. */
  readonly maxBodyBytes?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | undefined };
  readonly text: string;
}

/** No response arrived. */
export interface NoResponse {
  readonly status: 0;
  readonly reason: 'timeout' | 'network' | 'answer_too_large';
  /** False when the request certainly never left this machine. */
  readonly sent: boolean;
  /** The error code of the network, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
  readonly code?: string | undefined;
}

/** Names in lower case; a repeated header is a list. */
type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

const MAX_INTERIM_RESPONSES = 16;

/** One request and its response, settled once. It is undici's handler itself, so that a call costs no stream. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #clock: Clock;
  readonly #deadline: number;
  readonly #wantsBody: boolean;
  readonly #maxBodyBytes: number;
  readonly #settle: (result: HttpResponse | NoResponse) => void;
  #dispatch: ((handler: this) => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #isSettled = false;
  #interim = 0;
  #status = 0;
  #headers: ResponseHeaders = {};
  #chunks: Buffer[] | undefined;
  #bytes = 0;

  constructor(
    clock: Clock,
    timeoutMs: number,
    wantsBody: boolean,
    maxBodyBytes: number,
    settle: (result: HttpResponse | NoResponse) => void,
  ) {
    this.#clock = clock;
    this.#deadline = clock.monotonic() + timeoutMs;
    this.#wantsBody = wantsBody;
    this.#maxBodyBytes = maxBodyBytes;
    this.#settle = settle;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Whether it has a connection. */
  get isStarted(): boolean {
    return this.#dispatch !== undefined;
  }

  start(dispatch: (handler: this) => void): void {
    this.#dispatch = dispatch;
    dispatch(this);
  }

  /** Fails the exchange once its time is over. */
  checkDeadline(): void {
    if (this.#clock.monotonic() >= this.#deadline) this.fail('timeout');
  }

  /** Reads no further. If only the status of a 2xx is wanted and it has arrived, that is the result; otherwise the exchange fails. */
  fail(reason: NoResponse['reason'], code?: string): void {
    const controller = this.#controller;
    const isKnown = this.#status !== 0 && this.#chunks === undefined;
    const result = isKnown
      ? this.#response('')
      : ({ status: 0, reason, sent: controller !== undefined, code } as const);
    if (this.#end(result)) controller?.abort(new Error(reason));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.checkDeadline();
    // Expired while it waited for a connection. Throwing drops the request and keeps the connection; aborting would close it.
    if (this.#isSettled) throw new Error('expired');
    this.#controller = controller;
  }

  onResponseStart(_controller: unknown, status: number, headers: ResponseHeaders): void {
    if (status < 200) {
      if (++this.#interim > MAX_INTERIM_RESPONSES) this.fail('network', 'TOO_MANY_INTERIM_RESPONSES');
      return;
    }
    if (!hasKnownFraming(status, headers)) return this.fail('network', 'UNKNOWN_FRAMING');
    this.#status = status;
    this.#headers = headers;
    if (this.#wantsBody || status >= 300) this.#chunks = [];
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#maxBodyBytes) this.#chunks?.push(chunk);
    else this.fail('answer_too_large');
  }

  onResponseEnd(): void {
    const [first, ...more] = this.#chunks ?? [];
    const body = first !== undefined && more.length > 0 ? Buffer.concat([first, ...more]) : first;
    const { 'content-encoding': encoding } = this.#headers;
    const text = body === undefined ? '' : decoded(body, encoding, this.#maxBodyBytes);
    // The request was sent: without a readable response the CRM may have acted on it.
    if (text === undefined) return this.fail('network', 'UNREADABLE_ENCODING');
    const response = this.#response(text);
    // undici frees the connection in an immediate that it schedules after this callback. Settling behind that one lets the next call
    // of the same caller reuse the connection instead of opening another.
    this.#isSettled = true;
    queueMicrotask(() => setImmediate(this.#settle, response));
  }

  onResponseError(_controller: unknown, error: Error): void {
    const code = 'code' in error ? String(error.code) : error.name;
    const dispatchAgain = this.#dispatch;
    // A reset of an idle connection also fails the request that undici was about to write to it: another connection takes it.
    const isUnsent = this.#controller === undefined && !this.#isSettled;
    if (code === 'ECONNRESET' && isUnsent && dispatchAgain !== undefined) {
      this.#dispatch = undefined;
      dispatchAgain(this);
    } else this.fail('network', code);
  }

  #response(text: string): HttpResponse {
    const headers = this.#headers;
    const get = (name: string) => {
      const value = headers[name];
      return Array.isArray(value) ? value[0] : value;
    };
    return { status: this.#status, headers: { get }, text };
  }

  #end(result: HttpResponse | NoResponse): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#settle(result);
    return true;
  }
}

const DECODERS = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

/** Compression was not requested, but a CRM or a proxy may use it anyway. Returns undefined for what cannot be decoded within the limit. */
function decoded(
  body: Buffer,
  encoding: string | string[] | undefined,
  maxBytes: number,
): string | undefined {
  const name = String(encoding ?? 'identity').toLowerCase();
  if (name === 'identity' || name === '') return body.toString();
  try {
    return DECODERS.get(name)?.(body, { maxOutputLength: maxBytes }).toString();
  } catch {
    return undefined;
  }
}

/** An unknown coding would be read until the connection closes, and a duplicated one as if it were there once. */
const hasKnownFraming = (status: number, { 'transfer-encoding': coding }: ResponseHeaders) =>
  status < 600 &&
  (coding === undefined || (typeof coding === 'string' && coding.toLowerCase() === 'chunked'));
