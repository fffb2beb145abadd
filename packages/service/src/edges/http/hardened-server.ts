import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';

import { Connections } from './connections.ts';
import { errorResponse } from './error-response.ts';
import type { HttpError } from './error-response.ts';

export interface Hardening {
  /** Maximum requests in flight per socket. A client that pipelines more is disconnected. */
  readonly perSocket: number;
  /** Maximum requests in flight. Above it the slowest incomplete body is dropped; when all bodies are complete, new requests get 503. */
  readonly total: number;
  readonly connections: number;
  /** Deadline for complete headers. */
  readonly headersMs: number;
  /** Deadline for a complete body, except on upload paths (`slowBody`). */
  readonly bodyMs: number;
  readonly slowBody: (url: string) => boolean;
  /** Interval of the sweep that disconnects slow senders. */
  readonly sweepMs: number;
}

export const HARDENING: Hardening = {
  perSocket: 32,
  total: 1000,
  connections: 25_000,
  headersMs: 10_000,
  bodyMs: 12_000,
  slowBody: () => false,
  sweepMs: 1000,
};

const UPLOAD_MS = 600_000;

/** Keeps the socket: an aborted request no longer references it. */
interface Arrival {
  readonly request: IncomingMessage;
  readonly since: number;
  readonly socket: Socket;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * An HTTP server for hostile networks. It disconnects slow senders, bounds pipelining, and rejects requests that two parsers
 * may read differently although Node accepts them (two Host headers, an unusual Transfer-Encoding).
 */
export function createHardenedServer(
  handler: Handler,
  hardening: Hardening = HARDENING,
  connections: Connections = new Connections(),
): Server {
  // Keyed by number: a Map keyed by object is ten times as slow.
  const inFlight = new Map<number, Arrival>();
  /** Requests that were answered before their bodies were complete. */
  const incomplete = new Set<Arrival>();
  let arrivals = 0;

  const server = createServer(
    {
      headersTimeout: hardening.headersMs,
      requestTimeout: UPLOAD_MS,
      connectionsCheckingInterval: hardening.sweepMs,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16_384,
      noDelay: true,
    },
    (request, response) => {
      const { socket } = request;
      if (inFlight.size >= hardening.total && !dropSlowest())
        return reject(response, { status: 503, label: 'Service busy' });
      if (isAmbiguous(request)) return reject(response, { status: 400, label: 'Bad request' });
      const onSocket = connections.begin(socket, response);
      if (onSocket === 0) return;
      if (onSocket > hardening.perSocket) return void socket.destroy();
      const arrival = { request, since: performance.now(), socket };
      const number = arrivals++;
      inFlight.set(number, arrival);
      response.once('close', () => {
        inFlight.delete(number);
        if (!request.complete) incomplete.add(arrival);
        connections.end(socket);
      });
      handler(request, response);
    },
  );
  connections.watch(server);
  server.maxHeadersCount = 100;
  server.maxConnections = hardening.connections;
  server.on('clientError', rejectUnparsable);

  const isIncomplete = (request: IncomingMessage) =>
    !request.complete && !hardening.slowBody(request.url ?? '');

  /** Withholding the end of a body costs an attacker nothing, so it must not block clients that send complete bodies. */
  function dropSlowest(): boolean {
    for (const [number, { request, socket }] of inFlight) {
      if (!isIncomplete(request)) continue;
      inFlight.delete(number);
      socket.destroy();
      return true;
    }
    return false;
  }

  const sweep = setInterval(() => {
    const oldest = performance.now() - hardening.bodyMs;
    for (const { request, since, socket } of inFlight.values()) {
      if (since > oldest) break;
      if (isIncomplete(request)) socket.destroy();
    }
    for (const arrival of incomplete) {
      const { request, since, socket } = arrival;
      if (request.complete || socket.destroyed) incomplete.delete(arrival);
      else if (since <= oldest && isIncomplete(request)) socket.destroy();
    }
  }, hardening.sweepMs).unref();
  server.once('close', () => clearInterval(sweep));
  return server;
}

function isAmbiguous(request: IncomingMessage): boolean {
  const encoding = request.headers['transfer-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') return true;
  const { rawHeaders } = request;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts !== 1 && request.httpVersion !== '1.0';
}

function reject(response: ServerResponse, error: HttpError): void {
  const { status, headers, body } = errorResponse(error);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...headers,
  });
  response.end(body);
}

const UNSIGNED = '{"error":"Invalid signature"}';

// The parser failed, so there is no request object. The response is written by hand and echoes nothing of the input.
function rejectUnparsable(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  // An oversized signature header is an invalid signature like any other (S8).
  if (
    error.code === 'HPE_HEADER_OVERFLOW' &&
    error.rawPacket?.toString('latin1', 0, 17) === 'POST /crm/webhook'
  ) {
    socket.end(
      `HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${UNSIGNED.length}\r\n\r\n${UNSIGNED}`,
    );
    return (socket as Socket).destroySoon();
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  (socket as Socket).destroySoon();
}
