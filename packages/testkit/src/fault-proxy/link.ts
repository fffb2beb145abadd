import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { Pipe } from './pipe.ts';
import type { PipedConnection } from './pipe.ts';
import type { Direction, Toxics } from './toxics.ts';

export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface LinkEvents {
  forwarded(direction: Direction, bytes: number): void;
  /** The proxy must send these bytes to the server a second time. */
  repeat(request: Buffer): void;
  closed(link: Link): void;
}

/** A request and its response, up to the first bytes of the next request. */
interface Exchange {
  readonly request: Buffer[];
  answered: boolean;
}

/** One connection through the proxy: a socket to the client, a socket to the server, and a pipe in each direction. */
export class Link implements PipedConnection {
  /** Set once data was dropped. The connection must not forward data afterwards. */
  hasLostBytes = false;
  isClosed = false;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #toxics: Toxics;
  readonly #events: LinkEvents;
  readonly #timers: NodeJS.Timeout[] = [];
  #exchange: Exchange | undefined;

  constructor(client: Socket, target: Target, toxics: Toxics, events: LinkEvents) {
    this.#client = client;
    this.#server = connect({ ...target, allowHalfOpen: true, noDelay: true });
    this.#toxics = toxics;
    this.#events = events;
    client.setNoDelay(true);
    new Pipe(this, 'up', toxics, client, this.#server).open();
    new Pipe(this, 'down', toxics, this.#server, client).open();
    this.#watch(client, this.#server, 'up');
    this.#watch(this.#server, client, 'down');
    this.applyResetToxics();
  }

  /** Sends RST to both ends. */
  reset(): void {
    this.#close(hardReset);
  }

  /** Closes both ends after flushing pending writes. */
  end(): void {
    this.#close((socket) => socket.destroySoon());
  }

  applyResetToxics(): void {
    for (const { afterMs } of this.#toxics.affecting('reset_peer', this)) {
      if (afterMs === undefined) this.reset();
      else this.#timers.push(setTimeout(() => this.reset(), afterMs));
    }
  }

  /** After the removal of a toxic, resets the connection if it lost data or one of its ends. */
  resetIfDamaged(): void {
    const stillDropping = this.#toxics.affecting('timeout', this).length > 0;
    const stillHiding = this.#toxics.affecting('half_open', this).length > 0;
    const isHalfOpen = this.#client.destroyed !== this.#server.destroyed;
    if ((this.hasLostBytes && !stillDropping) || (isHalfOpen && !stillHiding)) this.reset();
  }

  count(direction: Direction, bytes: number): void {
    this.#events.forwarded(direction, bytes);
  }

  /** Tracks requests and responses. Returns false if the chunk must not be forwarded. */
  trackExchange(direction: Direction, chunk: Buffer): boolean {
    if (direction === 'up') {
      if (!this.#exchange || this.#exchange.answered) this.#exchange = { request: [], answered: false };
      // Buffered only if it will be repeated: a WebSocket client may send for hours without a response.
      if (this.#isRepeated(this.#exchange)) this.#exchange.request.push(chunk);
      return true;
    }
    const exchange = this.#exchange;
    if (!exchange || exchange.answered) return true;
    exchange.answered = true;
    if (exchange.request.length > 0) this.#events.repeat(Buffer.concat(exchange.request.splice(0)));
    if (this.#toxics.affecting('drop_response', exchange).length === 0) return true;
    this.reset();
    return false;
  }

  #isRepeated(exchange: Exchange): boolean {
    return this.#toxics.affecting('duplicate_request', exchange).length > 0;
  }

  #watch(socket: Socket, other: Socket, direction: Direction): void {
    socket.on('error', () => {
      // An error on one end resets the other, unless a toxic hides it.
      if (!this.#hides(direction)) hardReset(other);
    });
    socket.once('close', () => {
      if (!other.destroyed) return;
      this.isClosed = true;
      for (const timer of this.#timers) clearTimeout(timer);
      this.#events.closed(this);
    });
  }

  #hides(direction: Direction): boolean {
    return (
      this.#toxics.affecting('half_open', this, direction).length > 0 ||
      this.#toxics.affecting('timeout', this, direction).length > 0
    );
  }

  #close(closeSocket: (socket: Socket) => void): void {
    this.isClosed = true;
    closeSocket(this.#client);
    closeSocket(this.#server);
  }
}

/** Works around a bug in Node: a socket that is reset while its FIN is pending keeps the event loop spinning. */
function hardReset(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished;
  if (isEnding || socket.connecting) socket.destroy();
  else if (!socket.destroyed) socket.resetAndDestroy();
}
