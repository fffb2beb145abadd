import type { ResponseHeaders } from './answer-reader.ts';

export interface Outgoing {
  readonly origin: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly idempotencyKey?: string | undefined;
  readonly body?: string | Buffer | undefined;
  /** The body of a 2xx is discarded unless it is wanted. */
  readonly wantsBody?: boolean;
  readonly timeoutMs?: number | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Pick<ResponseHeaders, 'get'>;
  readonly text: string;
}

/** No response arrived. `sent` is false when the request certainly never left this machine. */
export interface NoAnswer {
  readonly status: 0;
  readonly reason: 'timeout' | 'network' | 'answer_too_large';
  readonly sent: boolean;
}

/** One request and its response, settled once. */
export class Exchange {
  readonly request: Outgoing;
  /** Request line and headers. */
  readonly head: string;
  /** Monotonic time. */
  readonly deadline: number;
  isSent = false;
  readonly #settle: (answer: Answer | NoAnswer) => void;

  constructor(
    request: Outgoing,
    head: string,
    deadline: number,
    settle: (answer: Answer | NoAnswer) => void,
  ) {
    this.request = request;
    this.head = head;
    this.deadline = deadline;
    this.#settle = settle;
  }

  settle(answer: Answer): void {
    this.#settle(answer);
  }

  fail(reason: NoAnswer['reason']): void {
    this.#settle({ status: 0, reason, sent: this.isSent });
  }
}

// A line break in a path or a header would start another request.
const FIT_PATH = /^\/[\x21-\x7e]*$/;
const UNFIT_HEADER = /[^\t\x20-\x7e]/;

/** The request up to its body; undefined when path or headers are invalid. */
export function headOf(request: Outgoing, host: string): string | undefined {
  const { method, path, headers, idempotencyKey, body } = request;
  const lines = linesOf(headers);
  if (lines === undefined || !FIT_PATH.test(path)) return undefined;
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nuser-agent: footbridge\r\n${lines}`;
  if (idempotencyKey !== undefined) {
    if (UNFIT_HEADER.test(idempotencyKey)) return undefined;
    head += `idempotency-key: ${idempotencyKey}\r\n`;
  }
  if (body === undefined && method === 'GET') return `${head}\r\n`;
  return `${head}content-length: ${body === undefined ? 0 : Buffer.byteLength(body)}\r\n\r\n`;
}

/** Serialised header lists: most calls share theirs with the previous call of the same location. */
const WRITTEN = new WeakMap<readonly string[], string>();

function linesOf(headers: readonly string[]): string | undefined {
  const known = WRITTEN.get(headers);
  if (known !== undefined) return known;
  if (UNFIT_HEADER.test(headers.join(''))) return undefined;
  const lines = headers.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
  WRITTEN.set(headers, lines);
  return lines;
}
