import { signBody } from '@footbridge/testkit/keys';
import type { SigningKey } from '@footbridge/testkit/keys';

/** Malformed requests, the same for the same numbers. */
export class FuzzInputs {
  readonly #random: () => number;
  readonly #key: SigningKey;

  constructor(random: () => number, key: SigningKey) {
    this.#random = random;
    this.#key = key;
  }

  number(below: number): number {
    return Math.floor(this.#random() * below);
  }

  /** A webhook that Node's parser accepts: malformed JSON with a right signature, or a body with a wrong one. */
  webhook(): Buffer {
    const body = Buffer.from(this.#chance(0.5) ? this.#json() : this.#mutated(GOOD), 'utf8');
    const signature = this.#chance(0.3) ? signBody(body, this.#key) : this.#signature();
    const type = this.#pick(TYPES);
    const path = this.#pick(PATHS);
    return request('POST', path, [`Content-Type: ${type}`, `${this.#key.header}: ${signature}`], body);
  }

  /** A file of a Mac without a valid token, or another call. */
  upload(): Buffer {
    const headers = [
      `Authorization: Bearer ${this.#text(this.number(80))}`,
      `X-File-Name: ${this.#text(this.number(300))}`,
      `Content-Encoding: ${this.#pick(['identity', 'gzip', '', this.#text(10)])}`,
    ];
    return request('POST', this.#pick(UPLOADS), headers, Buffer.from(this.#text(this.number(500))));
  }

  /** Bytes that are hardly HTTP. The service closes the connection. */
  http(): Buffer {
    const method = this.#pick(['GET', 'POST', 'PUT', 'HEAD', 'CONNECT', 'TRACE', '', '\0', this.#text(5)]);
    const head = `${method} ${this.#pick([...PATHS, '/mac/socket'])} HTTP/${this.#pick(['1.1', '1.0', '2.0', '9', ''])}\r\n`;
    const fields = Array.from({ length: this.number(6) }, () => this.#mutated(this.#pick(HEADERS)));
    return Buffer.from(
      `${this.#mutated(head)}${fields.join('\r\n')}\r\n\r\n${this.#text(this.number(100))}`,
      'latin1',
    );
  }

  frame(): string {
    return this.#chance(0.5) ? this.#json() : this.#mutated(this.#pick(FRAMES));
  }

  #json(depth = 0): string {
    const kind = this.number(depth > 6 ? 6 : 10);
    if (kind === 0) return String(this.#random() * 10 ** this.number(300));
    if (kind === 1)
      return this.#pick(['null', 'true', 'NaN', '-', '1e999', '"\\ud800"', '"\\u0000"', '{', '[,]', '']);
    if (kind < 6) return JSON.stringify(this.#text(this.number(60)));
    if (kind === 6)
      return `[${Array.from({ length: this.number(5) }, () => this.#json(depth + 1)).join(',')}]`;
    const name = () => this.#pick([...NAMES, this.#text(5)]);
    const fields = Array.from(
      { length: this.number(8) },
      () => `${JSON.stringify(name())}:${this.#json(depth + 1)}`,
    );
    return `{${fields.join(',')}}`;
  }

  #signature(): string {
    const bytes = Buffer.from(
      Array.from({ length: this.#pick([64, 64, 63, 0, 256]) }, () => this.number(256)),
    );
    return this.#chance(0.7) ? bytes.toString('base64') : this.#text(this.number(100));
  }

  #mutated(text: string): string {
    const at = this.number(text.length + 1);
    const kind = this.number(4);
    if (kind === 0) return text.slice(0, at) + this.#text(1 + this.number(4)) + text.slice(at);
    if (kind === 1) return text.slice(0, at) + text.slice(at + 1 + this.number(8));
    if (kind === 2) return text.slice(0, at) + text.slice(at).repeat(1 + this.number(3));
    return text;
  }

  /** Printable ASCII mostly, so that most requests reach the code behind the parser. */
  #text(length: number): string {
    return Array.from({ length }, () => String.fromCharCode(32 + this.number(95))).join('');
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #pick<T>(values: readonly T[]): T {
    const value = values[this.number(values.length)];
    if (value === undefined) throw new Error('there is nothing to choose from');
    return value;
  }
}

function request(method: string, path: string, headers: readonly string[], body: Buffer): Buffer {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: a', ...headers, `Content-Length: ${body.length}`];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

const GOOD = JSON.stringify({
  locationId: 'locFuzz0000000000001',
  contactId: 'contact1',
  phone: '+14155550100',
  message: 'Hello',
  attachments: ['https://files.example/a.png'],
  messageId: 'message-1',
});
const NAMES = [
  'locationId',
  'contactId',
  'phone',
  'message',
  'messageId',
  'attachments',
  'type',
  'userId',
  '__proto__',
];
const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json; charset=utf-16',
  'text/plain',
  '',
];
const PATHS = [
  '/crm/webhook',
  '/crm/webhook/sms',
  '/crm/webhook/imessage',
  '/crm/webhook/',
  '/crm/webhook?a=%ff',
];
const UPLOADS = [
  '/mac/assets',
  '/mac/activate',
  '/mac/deactivate',
  '/mac/pair',
  '/oauth/callback/crm',
  '/assets/x/%2e%2e',
  '/send-message',
];
const HEADERS = [
  'Host: a',
  'Content-Length: 5',
  'Transfer-Encoding: chunked',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Upgrade: h2c',
  'Connection: close',
  'Expect: 100-continue',
  'Content-Length: 0',
  'Trailer: X',
  'Sec-WebSocket-Protocol: footbridge.v1',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
];
const FRAMES = [
  '{"type":"register","locationId":"locFuzz0000000000001","capabilities":["received"],"os":{"version":"26.0"},"agent":{"version":"1.0.0"}}',
  '{"type":"message_status","seq":1,"requestId":"0","status":"delivered"}',
  '{"type":"received","requestId":"0"}',
  '{"type":"state","queue":{"pending":0}}',
];
