import { connect as connectTcp, isIP } from 'node:net';
import type { OnReadOpts, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';

import { AnswerReader } from './answer-reader.ts';
import type { Exchange, NoAnswer } from './exchange.ts';

/** The origin of the connections and the TLS session they share. */
export interface Destination {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  /** Resumed by the next handshake. */
  session?: Buffer;
}

export interface ConnectionOwner {
  /** The response is complete; the connection can take another request. */
  freed(connection: Connection): void;
  ended(connection: Connection): void;
}

/** Shared by all reads of all connections: a chunk is parsed before the next read begins. */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536);

/** One HTTP/1.1 connection with one request at a time. */
export class Connection {
  /** Set by the owner: monotonic time until which it may stay idle, and the poll count when it became idle. */
  restsUntil = 0;
  freedAtPoll = 0;
  readonly #destination: Destination;
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #reader = new AnswerReader();
  #exchange: Exchange | undefined;
  #isOpen = false;
  #isDone = false;

  constructor(destination: Destination, owner: ConnectionOwner) {
    this.#destination = destination;
    this.#owner = owner;
    this.#socket = open(destination, {
      buffer: READ_BUFFER,
      callback: (bytes, buffer) => {
        this.#heard(Buffer.from(buffer.buffer, buffer.byteOffset, bytes));
        return true;
      },
    });
    this.#socket.once(destination.isSecure ? 'secureConnect' : 'connect', () => {
      this.#isOpen = true;
      this.#write();
    });
    this.#socket.on('end', () => this.#ended());
    // `close` follows one event loop turn later, which is too late for a caller that writes in between.
    this.#socket.on('error', () => this.destroy());
    this.#socket.once('close', () => this.destroy());
  }

  /** The exchange in flight. */
  get exchange(): Exchange | undefined {
    return this.#exchange;
  }

  get restMs(): number {
    return this.#reader.restMs;
  }

  take(exchange: Exchange): void {
    this.#exchange = exchange;
    this.#reader.begin(exchange.request.wantsBody === true);
    if (this.#isOpen) this.#write();
  }

  /** Fails the exchange in flight. */
  destroy(reason: NoAnswer['reason'] = 'network'): void {
    if (this.#isDone) return;
    this.#isDone = true;
    // A session the server cannot handle would break every further handshake.
    if (!this.#isOpen) delete this.#destination.session;
    this.#socket.destroy();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#owner.ended(this);
    exchange?.fail(reason);
  }

  #write(): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    exchange.isSent = true;
    const { body = '' } = exchange.request;
    if (typeof body === 'string') this.#socket.write(exchange.head + body);
    else {
      this.#socket.cork();
      this.#socket.write(exchange.head);
      this.#socket.write(body);
      this.#socket.uncork();
    }
  }

  #heard(bytes: Buffer): void {
    // Unsolicited bytes: no request is in flight, so the connection cannot be trusted.
    if (this.#exchange?.isSent !== true) return this.destroy();
    this.#proceed(this.#exchange, this.#reader.push(bytes));
  }

  #ended(): void {
    if (this.#exchange?.isSent === true) this.#proceed(this.#exchange, this.#reader.end());
    this.destroy();
  }

  #proceed(exchange: Exchange, progress: ReturnType<AnswerReader['push']>): void {
    if (progress === 'more') return;
    if (progress === 'complete') {
      const { status, headers, text, restMs } = this.#reader;
      this.#exchange = undefined;
      // The response arrived before the whole request was sent: the rest would be read as the next request.
      if (restMs > 0 && this.#socket.writableLength === 0) this.#owner.freed(this);
      else this.destroy();
      return exchange.settle({ status, headers, text });
    }
    this.destroy(progress === 'broken' ? 'network' : 'answer_too_large');
  }
}

function open(destination: Destination, onread: OnReadOpts): Socket {
  const { host, port, isSecure } = destination;
  if (!isSecure) return connectTcp({ host, port, noDelay: true, onread });
  const options: ConnectionOptions & { readonly onread: OnReadOpts } = {
    host,
    port,
    ...(isIP(host) === 0 && { servername: host }),
    ...(destination.session && { session: destination.session }),
    ALPNProtocols: ['http/1.1'],
    onread,
  };
  const socket = connectTls(options);
  socket.on('session', (session: Buffer) => {
    destination.session = session;
  });
  return socket.setNoDelay(true);
}
