import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { afterReading } from '@footbridge/runtime/after-reading';
import { every, systemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import { createServer } from '@footbridge/runtime/node-http';

import { HTTP_CONNECTIONS } from '../budgets.ts';
import type { Budget } from '../budgets.ts';
import { OnePerTick } from '../bounded-share.ts';
import { boundBodyParts, RequestBudget } from './request-budget.ts';
import { Connections } from './connections.ts';
import type { Connection } from './connections.ts';
import { errorResponse } from './error-response.ts';
import type { HttpError } from './error-response.ts';

const BUSY: HttpError = { status: 503, label: 'Service busy' };
const CROWDED: HttpError = {
  status: 429,
  label: 'Too many requests at once from this address',
  retryAfterSec: 5,
};

export interface Hardening {
  /** Maximum requests in flight per socket. A client that pipelines more is disconnected. */
  readonly perSocket: number;
  /** Deadline for complete headers. */
  readonly headersMs: number;
  /** The budgets of requests by the beginning of their path; the first match counts. */
  readonly budgets: readonly (readonly [prefix: string, budget: Budget])[];
  /** The budget of all other requests. */
  readonly otherBudget: Budget;
  /** Returns the key under which the requests of a client's address are counted. */
  readonly addressOf: (request: IncomingMessage) => string;
  readonly clock: Pick<Clock, 'after'>;
  /** Responses to requests with too many or too large headers, by the beginning of the request. */
  readonly oversizedHeaders: readonly (readonly [
    start: string,
    response: { status: string; json: string },
  ])[];
  /** Interval of the sweep that disconnects slow clients. */
  readonly sweepMs: number;
}

export const HARDENING: Omit<Hardening, 'budgets' | 'otherBudget'> = {
  perSocket: 32,
  headersMs: 10_000,
  addressOf: ({ socket }) => socket.remoteAddress ?? '',
  clock: systemClock,
  oversizedHeaders: [],
  sweepMs: 1000,
};

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * An HTTP server for hostile networks. It keeps each kind of request within its budget, disconnects slow clients, bounds pipelining,
 * and rejects requests that two parsers may read differently although Node accepts them (two Host headers, an unusual
 * Transfer-Encoding).
 */
export function createHardenedServer(
  handler: Handler,
  hardening: Hardening,
  connections: Connections = new Connections(HTTP_CONNECTIONS),
): Server {
  const { perSocket, headersMs, sweepMs, addressOf, clock } = hardening;
  const listed = hardening.budgets.map(([prefix, budget]) => ({ prefix, budget: new RequestBudget(budget) }));
  const other = new RequestBudget(hardening.otherBudget);
  const pipelined = new OnePerTick();
  const budgetOf = ({ url = '' }: IncomingMessage) =>
    listed.find(({ prefix }) => url.startsWith(prefix))?.budget ?? other;

  const server = createServer(
    {
      headersTimeout: headersMs,
      // The budgets have shorter deadlines; Node's own default is shorter than an upload may take.
      requestTimeout: 0,
      connectionsCheckingInterval: sweepMs,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16_384,
      noDelay: true,
      shouldUpgradeCallback: isHandshake,
    },
    (request, response) => {
      const { socket } = request;
      if (isAmbiguous(request)) return reject(response, { status: 400, label: 'Bad request' });
      boundBodyParts(request);
      const budget = budgetOf(request);
      const connection = connections.begin(socket, response);
      if (connection === undefined) return;
      if (connection.inFlight > perSocket) return void socket.destroy();
      const address = budget.countsAddresses ? addressOf(request) : undefined;
      const arrival = budget.begin(request, response, address);
      const isRejected = typeof arrival === 'string';
      response.on('close', () => {
        if (!isRejected) budget.end(arrival);
        connections.end(connection);
      });
      if (isRejected) return reject(response, arrival === 'total' ? BUSY : CROWDED);
      if (connection.inFlight === 1) return handler(request, response);
      // Node parses all pipelined requests of a packet at once; handling them at once would delay other clients (T27).
      void pipelined.turn().then(() => {
        if (!socket.destroyed) handler(request, response);
      });
    },
  );
  connections.watch(server);
  server.maxHeadersCount = 100;
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT')
      return rejectUnparsable(error, socket as Socket, hardening.oversizedHeaders);
    const connection = connections.of(socket as Socket);
    const requests = connection?.requests;
    afterReading(() => {
      if (connection?.isOpen === true && connection.requests === requests) rejectSlow(connection);
    });
  });
  // The time that a connection may be idle between two requests is over.
  server.on('timeout', (socket) => {
    const { bytesRead } = socket;
    afterReading(() => {
      if (socket.bytesRead === bytesRead) socket.destroy();
    });
  });
  server.once(
    'close',
    every(clock, sweepMs, () => {
      for (const { budget } of listed) budget.sweep(sweepMs);
      other.sweep(sweepMs);
    }),
  );
  return server;
}

/**
 * Returns whether a request is a WebSocket handshake. Other upgrades are ignored and the request is handled normally: clients that prefer
 * HTTP/2 offer `h2c` with a webhook. Before version 24, Node passes every upgrade to the upgrade handler, which rejects it.
 */
function isHandshake({ method, headers }: IncomingMessage): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && !hasBody;
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

/**
 * A socket that has sent nothing may be one that a browser opened in advance. The browser would mistake a response for the one to its
 * next request; a client that pipelines would mistake it for a part of the response that is being written.
 */
function rejectSlow({ socket, inFlight }: Connection): void {
  if (socket.bytesRead === 0 || inFlight > 0 || !socket.writable) return void socket.destroy();
  rejectRaw(socket, '408 Request Timeout');
}

function rejectRaw(socket: Socket, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  socket.destroySoon();
}

// The parser failed, so there is no request object. The response is written by hand and echoes nothing of the input.
function rejectUnparsable(
  error: NodeJS.ErrnoException & { rawPacket?: Buffer },
  socket: Socket,
  responses: Hardening['oversizedHeaders'],
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  if (error.code !== 'HPE_HEADER_OVERFLOW') return rejectRaw(socket, '400 Bad Request');
  const [, response] =
    responses.find(([start]) => error.rawPacket?.toString('latin1', 0, start.length) === start) ?? [];
  if (response === undefined) return rejectRaw(socket, '431 Request Header Fields Too Large');
  const { status, json } = response;
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`,
  );
  socket.destroySoon();
}
