import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

const TEXT = 0x1;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;

export interface WebSocketHandlers {
  opened(): void;
  text(text: string): void;
  /** Not called after `end`. */
  lost(reason: string): void;
}

/** A minimal WebSocket client for the text frames of the Mac channel, so that thousands of Macs run on one core. */
export class WebSocketClient {
  readonly #socket: Socket;
  readonly #events: WebSocketHandlers;
  #rest: Buffer = Buffer.alloc(0);
  #upgraded = false;
  #ended = false;

  constructor(url: string, headers: Record<string, string>, events: WebSocketHandlers) {
    this.#events = events;
    const { hostname, port, pathname } = new URL(url);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    const lines = Object.entries({
      Host: `${hostname}:${port}`,
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#socket.write(`GET ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n`);
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('error', (error) => this.#lose(error.message));
    this.#socket.on('close', () => this.#lose('the connection ended'));
  }

  send(text: string): void {
    this.#write(TEXT, Buffer.from(text));
  }

  end(): void {
    this.#ended = true;
    this.#socket.destroy();
  }

  #write(opcode: number, payload: Buffer): void {
    const extended = payload.length > 125 ? 2 : 0;
    const frame = Buffer.alloc(2 + extended + 4 + payload.length);
    frame[0] = 0x80 | opcode;
    // A mask of four zero bytes is valid and leaves the payload unchanged.
    frame[1] = 0x80 | (extended === 0 ? payload.length : 126);
    if (extended > 0) frame.writeUInt16BE(payload.length, 2);
    payload.copy(frame, 2 + extended + 4);
    this.#socket.write(frame);
  }

  #read(chunk: Buffer | string): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    if (!this.#upgraded && !this.#readUpgrade()) return;
    while (this.#readFrame());
  }

  #readUpgrade(): boolean {
    const end = this.#rest.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const status = this.#rest.toString('latin1', 9, 12);
    if (status !== '101') {
      this.#lose(`the upgrade got ${status}`);
      this.end();
      return false;
    }
    this.#upgraded = true;
    this.#rest = this.#rest.subarray(end + 4);
    this.#events.opened();
    return true;
  }

  #readFrame(): boolean {
    if (this.#rest.length < 2) return false;
    let length = this.#rest.readUInt8(1);
    let start = 2;
    if (length === 126) {
      if (this.#rest.length < 4) return false;
      length = this.#rest.readUInt16BE(2);
      start = 4;
    } else if (length === 127) {
      if (this.#rest.length < 10) return false;
      length = Number(this.#rest.readBigUInt64BE(2));
      start = 10;
    }
    if (this.#rest.length < start + length) return false;
    const opcode = this.#rest.readUInt8(0) & 0x0f;
    const payload = this.#rest.subarray(start, start + length);
    this.#rest = this.#rest.subarray(start + length);
    if (opcode === TEXT) this.#events.text(payload.toString());
    else if (opcode === PING) this.#write(PONG, payload);
    else if (opcode === CLOSE)
      this.#lose(`closed with ${payload.length < 2 ? 'no code' : payload.readUInt16BE(0)}`);
    return true;
  }

  #lose(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.lost(reason);
  }
}
