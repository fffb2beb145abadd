import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import { CLOSE } from '@footbridge/protocol/close-codes';
import { MAX_FRAME_BYTES, SUBPROTOCOL } from '@footbridge/protocol/frames';
import { WebSocket, WebSocketServer } from 'ws';
import type { Server } from 'ws';

import { PING_FRAME, textFrame } from '../../platform/http/text-frame.ts';

/** The callbacks of a socket to its session. */
export interface SocketOwner {
  heard(data: Buffer, isText: boolean): void;
  answered(): void;
  pinged(data: Buffer): void;
  ended(code: number): void;
}

/** Close codes that `ws` uses by itself for malformed input. */
const BROKEN = new Map([
  [1002, 'broken WebSocket frame'],
  [1007, 'text that is not UTF-8'],
  [1008, 'message in too many pieces'],
]);
const MAX_REASON_BYTES = 123;

/** One Mac's socket. It passes its events directly to its owner and calls no listeners, so that ten thousand idle Macs need no tables of them. */
export class MacSocket extends WebSocket {
  #owner: SocketOwner | undefined;
  #stream: Duplex | undefined;
  #isDeaf = false;

  belongTo(owner: SocketOwner, stream: Duplex): void {
    this.#owner = owner;
    this.#stream = stream;
  }

  /** Called by `ws`. Ignores `error`, which is always followed by `close`, and everything without an owner. */
  override emit(event: string | symbol, first?: unknown, second?: unknown): boolean {
    const owner = this.#owner;
    if (owner === undefined) return false;
    if (event === 'message' && Buffer.isBuffer(first)) owner.heard(first, second === false);
    else if (event === 'pong') owner.answered();
    else if (event === 'ping' && Buffer.isBuffer(first)) owner.pinged(first);
    else if (event === 'close') {
      owner.ended(Number(first));
      this.#owner = undefined;
    }
    return true;
  }

  /** Bytes handed to the kernel so far. Does not grow while the Mac does not read. */
  get flushed(): number {
    return this.#stream instanceof Socket ? this.#stream.bytesWritten - this.bufferedAmount : 0;
  }

  /** Writes a text frame. Returns the number of bytes, or undefined when the text is longer than `maxBytes`. */
  sendText(text: string, maxBytes = MAX_FRAME_BYTES): number | undefined {
    const length = Buffer.byteLength(text);
    if (length > maxBytes) return undefined;
    this.#stream?.write(textFrame(text, length));
    return length;
  }

  /** Like `ping()`, without encoding the frame again. Every frame is a single write, so frames never interleave. */
  beat(): void {
    if (this.readyState === WebSocket.OPEN) this.#stream?.write(PING_FRAME);
  }

  /** Discards what the Mac sends from now on, and ends the stream with the close frame: during the closing handshake a flood would be parsed. */
  stopReading(): void {
    this.#isDeaf = true;
    this.#stream?.removeAllListeners('data').resume();
  }

  override close(code?: number, reason: string | Buffer = ''): void {
    const fault = code === undefined ? undefined : BROKEN.get(code);
    if (fault === undefined) super.close(code, shortened(reason.toString()));
    else super.close(CLOSE.protocol, fault);
    if (this.#isDeaf) this.#stream?.end();
  }
}

function shortened(reason: string): string {
  return Buffer.byteLength(reason) <= MAX_REASON_BYTES
    ? reason
    : Buffer.from(reason)
        .subarray(0, MAX_REASON_BYTES)
        .toString()
        .replace(/\uFFFD+$/, '');
}

/** Deadline of the closing handshake. */
const CLOSE_MS = 3000;

/** Creates the WebSocket server. Compression is off: one compressed message would cost 230 KiB per Mac. */
export function createSocketServer(): Server<typeof MacSocket> {
  const options = {
    noServer: true,
    WebSocket: MacSocket,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    maxFragments: 64,
    maxBufferedChunks: 4096,
    // The session sends pongs itself, because pongs to a Mac that does not read must count as unsent bytes.
    autoPong: false,
    closeTimeout: CLOSE_MS,
    handleProtocols: () => SUBPROTOCOL,
  };
  return new WebSocketServer(options);
}
