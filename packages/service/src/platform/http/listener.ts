import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

import { newRequestId } from '@footbridge/protocol/ids';
import { isNestedTooDeeply } from '@footbridge/protocol/json-size';
import type { Log } from '@footbridge/runtime/log';
import fastify from 'fastify';
import type { FastifyInstance } from 'fastify';

import { HTTP_CONNECTIONS } from '../budgets.ts';
import { RequestError, StartError } from '../errors.ts';
import type { AccessLog } from './access-log.ts';
import { addressKey, clientAddress } from './client-address.ts';
import type { Trusts } from './client-address.ts';
import { Connections } from './connections.ts';
import type { HttpError } from './error-response.ts';
import { createHardenedServer, HARDENING } from './hardened-server.ts';
import type { Hardening } from './hardened-server.ts';
import { rejectUpgrade } from './reject-upgrade.ts';
import { renderError } from './render-error.ts';

/** Handles a request before the router, for the hot path. Returns false to pass the request to the router. */
export type RawRoute = (request: IncomingMessage, response: ServerResponse, address: string) => boolean;
export type UpgradeRoute = (request: IncomingMessage, socket: Socket, head: Buffer, address: string) => void;

/** The time limit for emptying the accept queue: under constant load it may never be empty. */
const ACCEPT_MS = 1000;
const SHORT_TURN_MS = 1;
const UNMATCHED = 'unmatched';
const NO_SOCKETS: HttpError = { status: 404, label: 'Not found', code: 'NOT_FOUND' };

export interface ListenerOptions {
  readonly name: string;
  readonly log: Log;
  readonly trusted: Trusts;
  readonly hardening: Pick<Hardening, 'budgets' | 'otherBudget'> & Partial<Hardening>;
  readonly raw?: RawRoute;
  readonly upgrade?: UpgradeRoute;
  readonly routes: readonly ((app: FastifyInstance) => void)[];
  /** Whether the router serves requests that name this host. Default: any. */
  readonly isAllowedHost?: (host: string) => boolean;
  /** Called after each response of the router. Raw routes report their own. */
  readonly onServed?: AccessLog | undefined;
}

export interface DrainTimes {
  /** An idle connection stays open this long after the listener closed: a request may be on its way. */
  readonly idleMs: number;
  readonly withinMs: number;
}

export interface Listener {
  readonly url: string;
  /** Stops listening, responds to every request on an open connection, and closes the remaining connections after `withinMs`. */
  close(drain: DrainTimes): Promise<void>;
}

/** Keeps Fastify from loading its schema compilers, which cost startup time and memory. No route has a schema. */
const NO_SCHEMAS = (): never => {
  throw new Error('routes have no schemas');
};

export async function startListener(
  options: ListenerOptions,
  at: { host: string; port: number },
): Promise<Listener> {
  const connections = new Connections(HTTP_CONNECTIONS);
  const app = fastify({
    logger: false,
    bodyLimit: 65_536,
    genReqId: () => newRequestId(),
    trustProxy: options.trusted,
    requestIdHeader: false,
    routerOptions: { maxParamLength: 1024 },
    schemaController: { compilersFactory: { buildValidator: NO_SCHEMAS, buildSerializer: NO_SCHEMAS } },
    return503OnClosing: false,
    // A path that cannot be decoded matches no route.
    frameworkErrors: (_error, request, reply) =>
      renderError(options.log)(new RequestError('NOT_FOUND'), request, reply),
    serverFactory: (router) =>
      createHardenedServer(
        withRawRoute(router, options),
        {
          ...HARDENING,
          addressOf: (request) => addressKey(clientAddress(request, options.trusted)),
          ...options.hardening,
        },
        connections,
      ),
  });
  app.setErrorHandler(renderError(options.log));
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (isNestedTooDeeply(body)) done(new RequestError('INVALID_REQUEST', {}, { status: 400 }));
    else void parseJson(request, body, done);
  });
  // Runs before the body is read, so that the body of an unknown path is not parsed.
  app.addHook('onRequest', async (request) => {
    const { host = '' } = request.headers;
    if (options.isAllowedHost?.(host) === false) throw misdirected(host);
    if (request.is404) throw new RequestError('NOT_FOUND');
  });
  app.addHook('onSend', async (request, reply) => {
    void reply.header('X-Request-Id', request.id).header('X-Content-Type-Options', 'nosniff');
  });
  if (options.onServed !== undefined) reportServed(app, options.name, options.onServed);
  for (const routes of options.routes) void app.register(async (scope) => routes(scope));
  const { upgrade = (_request, socket) => rejectUpgrade(socket, NO_SOCKETS) } = options;
  app.server.on('upgrade', (request: IncomingMessage, _stream: unknown, head: Buffer) => {
    // For a request with a body, Node passes a stream that is not the socket.
    const { socket } = request;
    socket.on('error', destroySelf);
    upgrade(request, socket, head, clientAddress(request, options.trusted));
  });
  try {
    await app.listen({ host: at.host, port: at.port, backlog: 4096 });
  } catch (error) {
    throw new StartError(
      [`the ${options.name} listener cannot use ${at.host}:${at.port}: ${portFault(error)}`],
      1,
      error,
    );
  }
  return { url: urlOf(app.server, at.host), close: (times) => drain(app, connections, times) };
}

const misdirected = (host: string) =>
  new RequestError(
    'MISDIRECTED_REQUEST',
    {
      message:
        'The operator listener is not called by this host name. Add the name to ADMIN_ALLOWED_HOSTS and restart, or use localhost or an IP address. A proxy may have changed the name.',
      host,
    },
    { channel: 'operator' },
  );

/** One function for all sockets: a node keeps tens of thousands open. */
function destroySelf(this: Socket): void {
  this.destroy();
}

function reportServed(app: FastifyInstance, listener: string, onServed: AccessLog): void {
  app.addHook('onResponse', async (request, reply) => {
    const length = reply.getHeader('Content-Length');
    onServed({
      listener,
      method: request.method,
      route: request.routeOptions.url ?? UNMATCHED,
      status: reply.statusCode,
      ms: reply.elapsedTime,
      bytes: length === undefined ? null : Number(length),
      requestId: request.id,
    });
  });
}

function withRawRoute(
  router: (request: IncomingMessage, response: ServerResponse) => void,
  { raw, trusted }: ListenerOptions,
) {
  if (raw === undefined) return router;
  return (request: IncomingMessage, response: ServerResponse) => {
    if (!raw(request, response, clientAddress(request, trusted))) router(request, response);
  };
}

async function drain(
  app: FastifyInstance,
  connections: Connections,
  { idleMs, withinMs }: DrainTimes,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  await emptyAcceptQueue(app.server, Math.min(ACCEPT_MS, withinMs));
  // `http.Server.close` would also cut idle connections, and with them requests that are on their way.
  NetServer.prototype.close.call(app.server);
  await connections.drain({ idleMs, withinMs: deadline - performance.now() });
  app.server.closeAllConnections();
  await app.close();
}

/**
 * Accepts the connections that wait in the kernel: closing the socket would reset them. Node accepts one of them in each turn of
 * the event loop, so the queue was empty at the start of a turn without one, and hardly anything can have arrived since if that turn was short.
 */
async function emptyAcceptQueue(server: Server, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  let accepted = 0;
  const count = () => accepted++;
  server.on('connection', count);
  // From here on each turn includes the phase in which Node accepts connections.
  await setImmediate();
  for (;;) {
    const [before, began] = [accepted, performance.now()];
    await setImmediate();
    const now = performance.now();
    if ((accepted === before && now - began < SHORT_TURN_MS) || now >= deadline) break;
  }
  server.off('connection', count);
}

function urlOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${port}`;
}

function portFault(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  if (code === 'EADDRINUSE')
    return 'the port is in use, perhaps by a running demo; stop the other program or choose another port with PORT or ADMIN_PORT';
  if (code === 'EACCES') return 'permission denied; choose a port above 1023';
  if (code === 'EADDRNOTAVAIL') return 'the address does not exist on this machine';
  return error instanceof Error ? error.message : 'unknown reason';
}
