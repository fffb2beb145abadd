/** `broken`: no answer can be made of these bytes. `too_large`: a body that was wanted does not end. */
export type Progress = 'more' | 'complete' | 'broken' | 'too_large';

const MAX_HEAD_BYTES = 65_536;
const MAX_BODY_BYTES = 256 * 1024;
const LONGEST_REST_MS = 30_000;
/** A connection rests this much shorter than the other side says, so that it is not closed while a request is on its way. */
const REST_MARGIN_MS = 2000;

/** Where the next bytes belong to. `chunk_end` and `trailers`: behind a chunk, behind the last one. */
type Place = 'head' | 'sized' | 'chunk_size' | 'chunk' | 'chunk_end' | 'trailers' | 'until_close' | 'behind';

const INCOMPLETE = -1;
const BROKEN = -2;
const TOO_LARGE = -3;

/**
 * Cuts the answers on one connection out of its bytes, one after the other (RFC 9112). An answer whose end two readers could see in
 * different places is broken, and nothing that stands behind an answer is ever taken for the next one.
 */
export class AnswerReader {
  status = 0;
  headers = new AnswerHeaders('');
  /** How long the connection may rest after this answer and be used again; 0: not at all. */
  restMs = 0;
  #wantsBody = false;
  #place: Place = 'behind';
  /** The beginning of a head or line whose end is yet to come. */
  #unread: Buffer | undefined;
  #left = 0;
  #size = 0;
  /** Undefined when nobody wants to read it. */
  #body: Buffer[] | undefined;

  /** The body of a 2xx is thrown away unless it is wanted; any other tells why. */
  begin(wantsBody: boolean): void {
    this.#wantsBody = wantsBody;
    this.#place = 'head';
    this.#unread = undefined;
    this.#size = 0;
    this.#body = undefined;
  }

  get text(): string {
    const body = this.#body;
    if (body === undefined || body.length === 0) return '';
    return body.length === 1 ? String(body[0]) : Buffer.concat(body).toString();
  }

  /** `bytes` are only looked at: what is needed later is copied. */
  push(bytes: Buffer): Progress {
    const data = this.#unread === undefined ? bytes : Buffer.concat([this.#unread, bytes]);
    this.#unread = undefined;
    let at = 0;
    while (this.#place !== 'behind') {
      const next = this.#read(data, at);
      if (next === BROKEN) return 'broken';
      if (next === TOO_LARGE) return this.#tooLarge();
      if (next === INCOMPLETE) {
        if (data.length - at > MAX_HEAD_BYTES) return 'broken';
        if (at < data.length) this.#unread = Buffer.from(data.subarray(at));
        return 'more';
      }
      at = next;
    }
    if (at < data.length) this.restMs = 0;
    return 'complete';
  }

  /** Nothing more comes. */
  end(): Progress {
    if (this.#place !== 'until_close') return 'broken';
    this.#place = 'behind';
    return 'complete';
  }

  #tooLarge(): Progress {
    if (this.#body !== undefined) return 'too_large';
    // Nobody wants it: the answer is what its status says, and the rest is not worth the reading.
    this.restMs = 0;
    return 'complete';
  }

  /** Reads one thing and answers where it ends. */
  #read(data: Buffer, at: number): number {
    if (this.#place === 'head') return this.#readHead(data, at);
    if (this.#place === 'chunk_size') return this.#readChunkSize(data, at);
    if (this.#place === 'chunk_end') return this.#readChunkEnd(data, at);
    if (this.#place === 'trailers') return this.#readTrailer(data, at);
    return this.#readBody(data, at);
  }

  #readHead(data: Buffer, at: number): number {
    const text = data.toString('latin1', at);
    const length = text.indexOf('\r\n\r\n');
    if (length < 0) return INCOMPLETE;
    const status = statusOf(text);
    if (status === undefined || status === 101) return BROKEN;
    if (status >= 200) {
      this.status = status;
      this.headers = new AnswerHeaders(text.slice(0, length + 2));
      if (!this.#frame(text.startsWith(HTTP_1_1))) return BROKEN;
    }
    return at + length + 4;
  }

  /** Finds out how long the body is, and whether the connection outlives it. */
  #frame(isPersistent: boolean): boolean {
    const { headers, status } = this;
    if (headers.repeats(CONTENT_LENGTH) || headers.repeats(TRANSFER_ENCODING)) return false;
    const length = headers.find(CONTENT_LENGTH);
    const coding = headers.find(TRANSFER_ENCODING);
    if (this.#wantsBody || status >= 300) this.#body = [];
    this.restMs = isPersistent ? restOf(headers) : 0;
    if (status === 204 || status === 304) this.#place = 'behind';
    else if (coding !== undefined) {
      if (length !== undefined || coding.toLowerCase() !== 'chunked') return false;
      this.#place = 'chunk_size';
    } else if (length !== undefined) {
      if (!DECIMAL.test(length)) return false;
      this.#left = Number(length);
      this.#place = this.#left === 0 ? 'behind' : 'sized';
    } else {
      this.#left = Infinity;
      this.restMs = 0;
      this.#place = 'until_close';
    }
    return true;
  }

  #readBody(data: Buffer, at: number): number {
    const end = Math.min(data.length, at + this.#left);
    if (end === at) return INCOMPLETE;
    this.#size += end - at;
    if (this.#size > MAX_BODY_BYTES) return TOO_LARGE;
    this.#body?.push(Buffer.from(data.subarray(at, end)));
    this.#left -= end - at;
    if (this.#left === 0) this.#place = this.#place === 'chunk' ? 'chunk_end' : 'behind';
    return end;
  }

  #readChunkSize(data: Buffer, at: number): number {
    const end = data.indexOf('\r\n', at);
    if (end < 0) return INCOMPLETE;
    const digits = CHUNK_SIZE.exec(data.toString('latin1', at, end))?.[1];
    if (digits === undefined) return BROKEN;
    this.#left = Number.parseInt(digits, 16);
    this.#place = this.#left === 0 ? 'trailers' : 'chunk';
    return end + 2;
  }

  #readChunkEnd(data: Buffer, at: number): number {
    if (data.length - at < 2) return INCOMPLETE;
    if (data[at] !== CR || data[at + 1] !== LF) return BROKEN;
    this.#place = 'chunk_size';
    return at + 2;
  }

  /** They say nothing that we would use. */
  #readTrailer(data: Buffer, at: number): number {
    const end = data.indexOf('\r\n', at);
    if (end < 0) return INCOMPLETE;
    this.#size += end - at;
    if (this.#size > MAX_BODY_BYTES + MAX_HEAD_BYTES) return BROKEN;
    if (end === at) this.#place = 'behind';
    return end + 2;
  }
}

/** The lines of one head, looked up only when somebody asks. */
export class AnswerHeaders {
  readonly #text: string;
  readonly #lower: string;

  /** `text` ends with a line break. */
  constructor(text: string) {
    this.#text = text;
    this.#lower = text.toLowerCase();
  }

  get(name: string): string | undefined {
    return this.find(`\r\n${name}:`);
  }

  /** As `get`, by the beginning of the line. */
  find(needle: string): string | undefined {
    const start = this.#lower.indexOf(needle);
    if (start < 0) return undefined;
    const from = start + needle.length;
    return this.#text.slice(from, this.#text.indexOf('\r\n', from)).trim();
  }

  repeats(needle: string): boolean {
    const first = this.#lower.indexOf(needle);
    return first >= 0 && this.#lower.includes(needle, first + needle.length);
  }
}

const HTTP_1_1 = 'HTTP/1.1 ';
const CONTENT_LENGTH = '\r\ncontent-length:';
const TRANSFER_ENCODING = '\r\ntransfer-encoding:';
const CONNECTION = '\r\nconnection:';
const KEEP_ALIVE = '\r\nkeep-alive:';
const STATUS_LINE = /^HTTP\/1\.[01] [1-5]\d\d[ \r]/;
const DECIMAL = /^\d{1,15}$/;
const CHUNK_SIZE = /^([\da-f]{1,8})[ \t]*(?:;.{0,1024})?$/i;
const CR = 0x0d;
const LF = 0x0a;

const statusOf = (head: string) => (STATUS_LINE.test(head) ? Number(head.slice(9, 12)) : undefined);

function restOf(headers: AnswerHeaders): number {
  if (/\bclose\b/i.test(headers.find(CONNECTION) ?? '')) return 0;
  const seconds = /timeout=(\d{1,6})/i.exec(headers.find(KEEP_ALIVE) ?? '')?.[1];
  if (seconds === undefined) return LONGEST_REST_MS;
  return Math.min(LONGEST_REST_MS, Math.max(0, Number(seconds) * 1000 - REST_MARGIN_MS));
}
