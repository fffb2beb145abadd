/** Splits a byte stream into HTTP/1.1 messages with a Content-Length. Other framings are not supported. */
export class HttpMessages {
  #rest: Buffer = Buffer.alloc(0);
  readonly #onMessage: (head: string, body: Buffer) => void;

  constructor(onMessage: (head: string, body: Buffer) => void) {
    this.#onMessage = onMessage;
  }

  push(chunk: Buffer | string): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const headEnd = this.#rest.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const head = this.#rest.toString('latin1', 0, headEnd);
      const bodyStart = headEnd + 4;
      const bodyEnd = bodyStart + contentLength(head);
      if (this.#rest.length < bodyEnd) return;
      const body = this.#rest.subarray(bodyStart, bodyEnd);
      this.#rest = this.#rest.subarray(bodyEnd);
      this.#onMessage(head, body);
    }
  }
}

function contentLength(head: string): number {
  const given = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (given === undefined && /\r\ntransfer-encoding:/i.test(head))
    throw new Error('The benchmark supports only bodies with a Content-Length; this one is chunked.');
  return Number(given ?? 0);
}

export function httpResponse(status: number, reason: string, json: string): string {
  return (
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(json)}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\n${json}`
  );
}
