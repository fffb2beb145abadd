/** `broken`: the bytes are not a valid response. `too_large`: a wanted body exceeds the limit. */
export type Progress = 'more' | 'complete' | 'broken' | 'too_large';

/** Includes the heads of interim responses and the trailers. */
const MAX_HEAD_BYTES = 65_536;
const MAX_BODY_BYTES = 256 * 1024;
const LONGEST_REST_MS = 30_000;
/** A connection is dropped this long before the server would close it, so that no request meets the close. */
const REST_MARGIN_MS = 2000;

/** What the next bytes belong to. */
type Place = 'head' | 'sized' | 'chunk_size' | 'chunk' | 'chunk_end' | 'trailers' | 'until_close' | 'behind';

const INCOMPLETE = -1;
const BROKEN = -2;
const TOO_LARGE = -3;

/**
 * Parses the responses on one connection (RFC 9112). A response with ambiguous framing is broken, and bytes after a response are
 * never taken for the next one.
 */
export class AnswerReader {
  status = 0;
  headers = new ResponseHeaders('');
  /** How long the connection may stay idle after this response; 0: not reusable. */
  restMs = 0;
  #wantsBody = false;
  #place: Place = 'behind';
  /** The start of an incomplete head or line, and how many of its bytes were searched already. */
  #unread: Pile | undefined;
  #searched = 0;
  #headBytes = 0;
  #left = 0;
  #size = 0;
  /** Undefined when the body is discarded. */
  #body: Pile | undefined;

  /** The body of a 2xx is discarded unless it is wanted; the body of any other status gives the reason. */
  begin(wantsBody: boolean): void {
    this.#wantsBody = wantsBody;
    this.#place = 'head';
    this.#unread = undefined;
    this.#searched = 0;
    this.#headBytes = 0;
    this.#size = 0;
    this.#body = undefined;
  }

  get text(): string {
    return this.#body === undefined ? '' : this.#body.text;
  }

  /** `bytes` is not retained: what is needed later is copied. */
  push(bytes: Buffer): Progress {
    this.#unread?.add(bytes, 0, bytes.length);
    const data = this.#unread?.bytes ?? bytes;
    let at = 0;
    while (this.#place !== 'behind') {
      const next = this.#read(data, at);
      if (next === BROKEN) return 'broken';
      if (next === TOO_LARGE) return this.#tooLarge();
      if (next === INCOMPLETE) return this.#keep(data, at);
      this.#searched = 0;
      at = next;
    }
    if (at < data.length) this.restMs = 0;
    return 'complete';
  }

  /** The connection ended. */
  end(): Progress {
    if (this.#place !== 'until_close') return 'broken';
    this.#place = 'behind';
    return 'complete';
  }

  #keep(data: Buffer, at: number): Progress {
    this.#searched = data.length - at;
    if (this.#searched >= MAX_HEAD_BYTES) return 'broken';
    if (this.#searched === 0) this.#unread = undefined;
    else if (at > 0 || this.#unread === undefined) {
      this.#unread = new Pile();
      this.#unread.add(data, at, data.length);
    }
    return 'more';
  }

  #tooLarge(): Progress {
    if (this.#body !== undefined) return 'too_large';
    // The body is not wanted: the status says enough, and the rest is not read.
    this.restMs = 0;
    return 'complete';
  }

  /** Reads one element and returns where it ends. */
  #read(data: Buffer, at: number): number {
    if (this.#place === 'head') return this.#readHead(data, at);
    if (this.#place === 'chunk_size') return this.#readChunkSize(data, at);
    if (this.#place === 'chunk_end') return this.#readChunkEnd(data, at);
    if (this.#place === 'trailers') return this.#readTrailer(data, at);
    return this.#readBody(data, at);
  }

  #readHead(data: Buffer, at: number): number {
    // Search only the bytes that arrived since the last call.
    if (this.#searched > 3 && data.indexOf(HEAD_END, at + this.#searched - 3) < 0) return INCOMPLETE;
    const text = data.toString('latin1', at);
    const length = text.indexOf(HEAD_END) + 2;
    if (length < 2) return INCOMPLETE;
    const head = text.slice(0, length);
    this.#headBytes += length + 2;
    if (this.#headBytes > MAX_HEAD_BYTES || !HEAD.test(head)) return BROKEN;
    const status = Number(head.slice(9, 12));
    if (status === 101) return BROKEN;
    if (status >= 200) {
      this.status = status;
      this.headers = new ResponseHeaders(head);
      if (!this.#frame(head.startsWith(HTTP_1_1))) return BROKEN;
    }
    return at + length + 2;
  }

  /** Determines the length of the body and whether the connection can be reused after it. */
  #frame(isPersistent: boolean): boolean {
    const { headers, status } = this;
    const length = headers.find(CONTENT_LENGTH);
    const coding = headers.find(TRANSFER_ENCODING);
    if (length !== undefined && coding !== undefined) return false;
    if (length !== undefined && (!DECIMAL.test(length) || headers.repeats(CONTENT_LENGTH))) return false;
    if (coding !== undefined && (!CHUNKED.test(coding) || headers.repeats(TRANSFER_ENCODING))) return false;
    if (this.#wantsBody || status >= 300) this.#body = new Pile();
    this.#left = length === undefined ? Infinity : Number(length);
    this.restMs = isPersistent ? restOf(headers) : 0;
    if (status === 204 || status === 304) {
      this.#place = 'behind';
      // A server that announces a body here may also send it, and it would be taken for the next response.
      if (coding !== undefined || (length !== undefined && this.#left > 0)) this.restMs = 0;
    } else if (coding !== undefined) this.#place = 'chunk_size';
    else if (length !== undefined) this.#place = this.#left === 0 ? 'behind' : 'sized';
    else {
      this.#place = 'until_close';
      this.restMs = 0;
    }
    return true;
  }

  #readBody(data: Buffer, at: number): number {
    const end = Math.min(data.length, at + this.#left);
    if (end === at) return INCOMPLETE;
    this.#size += end - at;
    if (this.#size > MAX_BODY_BYTES) return TOO_LARGE;
    this.#body?.add(data, at, end);
    this.#left -= end - at;
    if (this.#left === 0) this.#place = this.#place === 'chunk' ? 'chunk_end' : 'behind';
    return end;
  }

  #readChunkSize(data: Buffer, at: number): number {
    const end = this.#lineEnd(data, at);
    if (end === 0) return INCOMPLETE;
    const digits = CHUNK_SIZE.exec(data.toString('latin1', at, end))?.[1];
    if (digits === undefined) return BROKEN;
    this.#left = Number.parseInt(digits, 16);
    this.#place = this.#left === 0 ? 'trailers' : 'chunk';
    return end;
  }

  #readChunkEnd(data: Buffer, at: number): number {
    if (data.length - at < 2) return INCOMPLETE;
    if (data[at] !== CR || data[at + 1] !== LF) return BROKEN;
    this.#place = 'chunk_size';
    return at + 2;
  }

  /** Trailers are skipped. */
  #readTrailer(data: Buffer, at: number): number {
    const end = this.#lineEnd(data, at);
    if (end === 0) return INCOMPLETE;
    this.#headBytes += end - at;
    if (this.#headBytes > MAX_HEAD_BYTES || !TRAILER.test(data.toString('latin1', at, end))) return BROKEN;
    if (end === at + 2) this.#place = 'behind';
    return end;
  }

  /** Returns 0 when the line is incomplete. */
  #lineEnd(data: Buffer, at: number): number {
    return data.indexOf(LF, at + this.#searched) + 1;
  }
}

const EMPTY = Buffer.alloc(0);

/** A growing buffer. Its capacity doubles, so that many small chunks cost no more than one large one. */
class Pile {
  #room = EMPTY;
  #length = 0;

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  get text(): string {
    return this.#room.toString('utf8', 0, this.#length);
  }

  add(source: Buffer, from: number, to: number): void {
    const length = this.#length + to - from;
    if (length > this.#room.length) {
      const room = Buffer.allocUnsafe(Math.max(length, 2 * this.#room.length));
      this.#room.copy(room, 0, 0, this.#length);
      this.#room = room;
    }
    source.copy(this.#room, this.#length, from, to);
    this.#length = length;
  }
}

/** The header lines of one response, parsed on demand. */
export class ResponseHeaders {
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

  /** As `get`, by the start of the line. */
  find(needle: string): string | undefined {
    const start = this.#lower.indexOf(needle);
    if (start < 0) return undefined;
    let from = start + needle.length;
    let to = this.#text.indexOf('\r\n', from);
    // Not `trim`: other parsers treat further whitespace as part of the value.
    while (isBlank(this.#text.charCodeAt(from))) from++;
    while (to > from && isBlank(this.#text.charCodeAt(to - 1))) to--;
    return this.#text.slice(from, to);
  }

  /** `pattern` is matched against the lower-cased lines. */
  has(pattern: RegExp): boolean {
    return pattern.test(this.#lower);
  }

  repeats(needle: string): boolean {
    const first = this.#lower.indexOf(needle);
    return first >= 0 && this.#lower.includes(needle, first + needle.length);
  }
}

const HTTP_1_1 = 'HTTP/1.1 ';
const HEAD_END = '\r\n\r\n';
const CONTENT_LENGTH = '\r\ncontent-length:';
const TRANSFER_ENCODING = '\r\ntransfer-encoding:';
const CLOSE = /\r\nconnection:[^\r]*\bclose\b/;
const KEEP_ALIVE = '\r\nkeep-alive:';
const TIMEOUT = /timeout=(\d{1,6})/i;
// Complete lines of names and values only: no bare line feed, folded line or blank before a colon can hide a framing header.
const HEAD =
  /^HTTP\/1\.[01] [1-5]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?\r\n(?:[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;
const TRAILER = /^(?:[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*)?\r\n$/;
const CHUNK_SIZE = /^([\da-f]{1,8})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]{0,1024})?\r\n$/i;
const CHUNKED = /^chunked$/i;
const DECIMAL = /^\d{1,15}$/;
const CR = 0x0d;
const LF = 0x0a;

const isBlank = (code: number) => code === 0x20 || code === 0x09;

function restOf(headers: ResponseHeaders): number {
  if (headers.has(CLOSE)) return 0;
  const seconds = TIMEOUT.exec(headers.find(KEEP_ALIVE) ?? '')?.[1];
  if (seconds === undefined) return LONGEST_REST_MS;
  return Math.min(LONGEST_REST_MS, Math.max(0, Number(seconds) * 1000 - REST_MARGIN_MS));
}
