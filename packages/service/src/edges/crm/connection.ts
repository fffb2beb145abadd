import { connect as connectTcp, isIP } from 'node:net';
import type { OnReadOpts, Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';

import { AnswerReader } from './answer-reader.ts';
import type { Exchange, NoAnswer } from './exchange.ts';

/** Where connections go, and what they have in common. */
export interface Destination {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  /** Makes the next handshake cheaper. */
  session?: Buffer;
}

export interface ConnectionOwner {
  /** The answer is there; the connection can take another request. */
  freed(connection: Connection): void;
  ended(connection: Connection): void;
}

/** Every read of every connection goes through here: what it brings is looked at before the next one begins. */
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536);

/** One connection to the CRM: HTTP/1.1, one request at a time. */
export class Connection {
  /** The owner's business: monotonic time until which it may rest, and how often the event loop had polled when that began. */
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
    // `close` follows a turn of the event loop later: too late for who would write on it until then.
    this.#socket.on('error', () => this.destroy());
    this.#socket.once('close', () => this.destroy());
  }

  /** What it is busy with. */
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

  /** What it is busy with fails. */
  destroy(reason: NoAnswer['reason'] = 'network'): void {
    if (this.#isDone) return;
    this.#isDone = true;
    // A session that the other side chokes on would keep us out for good.
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
    // Nobody asked.
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
      // A request that is answered before all of it was sent would be taken for the next one.
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
