import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

import { LinkedList } from '@footbridge/runtime/linked-list';
import type { ListNode } from '@footbridge/runtime/linked-list';

export interface Connection {
  readonly socket: Socket;
  isOpen: boolean;
  /** Requests whose responses are not finished. More than one means that the client pipelines. */
  inFlight: number;
  newest: ServerResponse | undefined;
  /** The responses that began behind another one and are not finished; undefined for a client that has never pipelined. */
  pipelined: Set<ServerResponse> | undefined;
  /** How many requests have begun. */
  requests: number;
  /** Its node in `#unproven` or `#idle`; undefined while a request is in flight. */
  idleNode: ListNode<Socket> | undefined;
  /** A `Connection: close` response or a FIN is under way: a later request on this socket cannot be answered. */
  closing: boolean;
  /** How long it was silent while the server drained, and how many bytes had arrived before. */
  silentMs: number;
  bytesRead: number;
}

const POLL_MS = 20;

/**
 * The open HTTP connections of one server, and how a stopping server closes each of them without dropping a request:
 * a connection in use closes after its next response, an idle one once it has been silent for a grace period.
 */
export class Connections {
  readonly #open = new Map<Socket, Connection>();
  /** Sockets that have not sent a request yet. */
  readonly #unproven = new LinkedList<Socket>();
  /** Sockets between requests, the longest idle first. */
  readonly #idle = new LinkedList<Socket>();
  readonly #max: number;
  #draining = false;

  constructor(max: number) {
    this.#max = max;
  }

  watch(server: Server): void {
    const forget = (socket: Socket) => this.#forget(socket);
    /** One function for all sockets: a node keeps tens of thousands open. */
    function forgetSelf(this: Socket): void {
      forget(this);
    }
    server.on('connection', (socket: Socket) => {
      if (this.#open.size >= this.#max) this.#dropIdle();
      this.#open.set(socket, {
        socket,
        isOpen: true,
        inFlight: 0,
        newest: undefined,
        pipelined: undefined,
        requests: 0,
        idleNode: this.#unproven.add(socket),
        closing: false,
        silentMs: 0,
        bytesRead: 0,
      });
      socket.on('close', forgetSelf);
    });
    // A WebSocket is no longer an HTTP connection; its owner closes it.
    server.on('upgrade', ({ socket }) => {
      socket.off('close', forgetSelf);
      forget(socket);
    });
  }

  /** Makes room for a new connection (T28): connections that are held open must not keep other clients out. */
  #dropIdle(): void {
    const oldest = this.#unproven.oldest ?? this.#idle.oldest;
    if (oldest === undefined) return;
    this.#forget(oldest);
    oldest.destroy();
  }

  #forget(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    connection.isOpen = false;
    connection.idleNode?.remove();
    this.#open.delete(socket);
  }

  /** Counts a request. Returns undefined when it must not be handled. */
  begin(socket: Socket, response: ServerResponse): Connection | undefined {
    const connection = this.#open.get(socket);
    if (connection === undefined || connection.closing) return undefined;
    connection.newest = response;
    if (this.#draining) closeAfter(connection, response);
    connection.idleNode?.remove();
    connection.idleNode = undefined;
    if (connection.inFlight > 0) closeWithSocket(connection, response);
    connection.inFlight++;
    connection.requests++;
    return connection;
  }

  of(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  /** To be called when the response to a counted request is finished. */
  end(connection: Connection): void {
    if (!connection.isOpen || --connection.inFlight > 0) return;
    connection.newest = undefined;
    connection.idleNode = this.#idle.add(connection.socket);
  }

  /**
   * Resolves when every connection is closed, or after `withinMs`. From now on each response carries `Connection: close`;
   * a connection without a request is closed after `idleMs` of silence.
   */
  async drain({ idleMs, withinMs }: { idleMs: number; withinMs: number }): Promise<void> {
    const started = performance.now();
    this.#draining = true;
    for (const connection of this.#open.values())
      if (connection.inFlight > 0 && connection.newest?.headersSent === false)
        closeAfter(connection, connection.newest);
    while (this.#open.size > 0) {
      if (performance.now() - started >= withinMs) return;
      for (const [socket, connection] of this.#open) {
        if (connection.inFlight > 0 || connection.closing) continue;
        if (socket.bytesRead !== connection.bytesRead) {
          // Part of a request has arrived.
          connection.bytesRead = socket.bytesRead;
          connection.silentMs = 0;
        } else if (connection.silentMs >= idleMs) {
          connection.closing = true;
          socket.end();
        } else connection.silentMs += POLL_MS;
      }
      await sleep(POLL_MS);
      // After a stall of this process, timers run before the sockets are read.
      await nextTurn();
    }
  }
}

/**
 * Emits `close` for a response that still waits behind another one when its socket closes. Node before 24 does not do this, and no version does
 * when a CONNECT or an upgrade follows; whatever the request holds would never be released (T27).
 */
function closeWithSocket(connection: Connection, response: ServerResponse): void {
  connection.pipelined ??= closedWith(connection.socket);
  const { pipelined } = connection;
  pipelined.add(response);
  response.once('close', () => pipelined.delete(response));
}

function closedWith(socket: Socket): Set<ServerResponse> {
  const responses = new Set<ServerResponse>();
  socket.once('close', () => {
    for (const response of responses) {
      if (response.socket !== null || response.destroyed) continue;
      // Not with `destroy`, which emits `close` only from version 24 on.
      response.destroyed = true;
      response.emit('close');
    }
  });
  return responses;
}

function closeAfter(connection: Connection, response: ServerResponse): void {
  connection.closing = true;
  response.shouldKeepAlive = false;
}
