import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';

import { Connections } from './connections.ts';
import { errorResponse } from './error-response.ts';
import type { HttpError } from './error-response.ts';

export interface Hardening {
  /** Requests one socket may have under way; a client that pipelines more is cut off. */
  readonly perSocket: number;
  /** Requests under way in total. Beyond that the slowest body gives way; when all are there, further requests are answered 503. */
  readonly total: number;
  readonly connections: number;
  /** A body must be complete within this time, unless `slowBody` says the path takes uploads. */
  readonly bodyMs: number;
  readonly slowBody: (url: string) => boolean;
}

export const HARDENING: Hardening = {
  perSocket: 32,
  total: 1000,
  connections: 25_000,
  bodyMs: 12_000,
  slowBody: () => false,
};

const HEADERS_MS = 10_000;
const UPLOAD_MS = 600_000;
const SWEEP_MS = 1000;

/** When a request began, and where: one that was given up no longer knows its socket. */
interface Arrival {
  readonly request: IncomingMessage;
  readonly since: number;
  readonly socket: Socket;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * An HTTP server for hostile networks: slow senders are cut off, pipelining is bounded, and what Node lets pass although
 * two parsers may read it differently (two Hosts, an odd Transfer-Encoding) is refused before any handler sees it.
 */
export function createHardenedServer(
  handler: Handler,
  hardening: Hardening = HARDENING,
  connections: Connections = new Connections(),
): Server {
  // Found by number: finding them by object costs ten times as much.
  const underWay = new Map<number, Arrival>();
  /** Answered before their bodies were there. */
  const unread = new Set<Arrival>();
  let arrivals = 0;

  const server = createServer(
    {
      headersTimeout: HEADERS_MS,
      requestTimeout: UPLOAD_MS,
      connectionsCheckingInterval: SWEEP_MS,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16_384,
      noDelay: true,
    },
    (request, response) => {
      const { socket } = request;
      if (underWay.size >= hardening.total && !cutSlowest())
        return reject(response, { status: 503, label: 'Service busy' });
      if (isAmbiguous(request)) return reject(response, { status: 400, label: 'Bad request' });
      const onSocket = connections.begin(socket, response);
      if (onSocket === 0) return;
      if (onSocket > hardening.perSocket) return void socket.destroy();
      const arrival = { request, since: performance.now(), socket };
      const number = arrivals++;
      underWay.set(number, arrival);
      response.once('close', () => {
        underWay.delete(number);
        if (!request.complete) unread.add(arrival);
        connections.end(socket);
      });
      handler(request, response);
    },
  );
  connections.watch(server);
  server.maxHeadersCount = 100;
  server.maxConnections = hardening.connections;
  server.on('clientError', answerUnparsable);

  const isSlow = (request: IncomingMessage) => !request.complete && !hardening.slowBody(request.url ?? '');

  /** Holding back the end of a body costs nothing, so it must not keep out those who send all of theirs. */
  function cutSlowest(): boolean {
    for (const [number, { request, socket }] of underWay) {
      if (!isSlow(request)) continue;
      underWay.delete(number);
      socket.destroy();
      return true;
    }
    return false;
  }

  const sweep = setInterval(() => {
    const oldest = performance.now() - hardening.bodyMs;
    for (const { request, since, socket } of underWay.values()) {
      if (since > oldest) break;
      if (isSlow(request)) socket.destroy();
    }
    for (const arrival of unread) {
      const { request, since, socket } = arrival;
      if (request.complete || socket.destroyed) unread.delete(arrival);
      else if (since <= oldest && isSlow(request)) socket.destroy();
    }
  }, SWEEP_MS).unref();
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

// What the parser itself refuses: no request object exists, so the answer is written by hand and says nothing of the input.
function answerUnparsable(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  // A signature header too long for the parser is a bad signature like any other (S8).
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
