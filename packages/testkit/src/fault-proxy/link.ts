import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { Pipe } from './pipe.ts';
import type { Direction, Toxics } from './toxics.ts';

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** Told to whoever keeps the books. */
export interface LinkEvents {
  passed(direction: Direction, bytes: number): void;
  /** These bytes are to reach the server a second time. */
  repeat(request: Buffer): void;
  over(link: Link): void;
}

/** What a client asks and what is answered: from its first bytes to the first bytes of its next request. */
interface Exchange {
  readonly request: Buffer[];
  answered: boolean;
}

/** One connection through the proxy: a socket to the client, a socket to the server, a pipe each way. */
export class Link {
  /** Bytes are missing from its stream: it must never carry others. */
  hasLostBytes = false;
  isOver = false;
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
    this.resetIfTold();
  }

  /** RST to both ends. */
  reset(): void {
    this.#leave(hardReset);
  }

  /** Closes both ends once what was written is out. */
  end(): void {
    this.#leave((socket) => socket.destroySoon());
  }

  resetIfTold(): void {
    for (const { afterMs } of this.#toxics.striking('reset_peer', this)) {
      if (afterMs === undefined) this.reset();
      else this.#timers.push(setTimeout(() => this.reset(), afterMs));
    }
  }

  /** After a toxic went: what it did to this connection cannot be undone, only ended. */
  settle(): void {
    const cut = this.#toxics.striking('timeout', this).length > 0;
    const hides = this.#toxics.striking('half_open', this).length > 0;
    const oneIsGone = this.#client.destroyed !== this.#server.destroyed;
    if ((this.hasLostBytes && !cut) || (oneIsGone && !hides)) this.reset();
  }

  count(direction: Direction, bytes: number): void {
    this.#events.passed(direction, bytes);
  }

  /** Keeps track of requests and answers; false when these bytes must not go on. */
  exchanged(direction: Direction, chunk: Buffer): boolean {
    if (direction === 'up') {
      if (!this.#exchange || this.#exchange.answered) this.#exchange = { request: [], answered: false };
      // Kept only where it will be repeated: a socket may talk for hours without an answer.
      if (this.#isRepeated(this.#exchange)) this.#exchange.request.push(chunk);
      return true;
    }
    const exchange = this.#exchange;
    if (!exchange || exchange.answered) return true;
    exchange.answered = true;
    if (exchange.request.length > 0) this.#events.repeat(Buffer.concat(exchange.request.splice(0)));
    if (this.#toxics.striking('drop_response', exchange).length === 0) return true;
    this.reset();
    return false;
  }

  #isRepeated(exchange: Exchange): boolean {
    return this.#toxics.striking('duplicate_request', exchange).length > 0;
  }

  #watch(dying: Socket, other: Socket, direction: Direction): void {
    dying.on('error', () => {
      // A broken end breaks the other, unless that is being hidden from it.
      if (!this.#hides(direction)) hardReset(other);
    });
    dying.once('close', () => {
      if (!other.destroyed) return;
      this.isOver = true;
      for (const timer of this.#timers) clearTimeout(timer);
      this.#events.over(this);
    });
  }

  #hides(direction: Direction): boolean {
    return (
      this.#toxics.striking('half_open', this, direction).length > 0 ||
      this.#toxics.striking('timeout', this, direction).length > 0
    );
  }

  #leave(how: (socket: Socket) => void): void {
    this.isOver = true;
    how(this.#client);
    how(this.#server);
  }
}

/** Node loses track of a socket that is reset while its FIN is on the way out, and spins on it for ever. */
function hardReset(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished;
  if (isEnding || socket.connecting) socket.destroy();
  else if (!socket.destroyed) socket.resetAndDestroy();
}
