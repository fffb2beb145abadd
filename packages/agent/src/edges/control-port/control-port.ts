import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

import type { Log } from '@footbridge/runtime/log';
import { createServer } from '@footbridge/runtime/node-http';
import { readBounded } from '@footbridge/runtime/read-bounded';
import { handleCall } from '@footbridge/simulator/calls';
import { BadRequestError } from '@footbridge/simulator/json-body';

import { ControlPortError } from '../../errors.ts';
import { SimulationError } from '@footbridge/simulator/simulation';
import type { Simulation } from '@footbridge/simulator/simulation';

const MAX_BODY_BYTES = 150 * 1024 * 1024;

export interface ControlPort {
  readonly url: string;
  close(): Promise<void>;
}

/** Opens the control port of the simulator: JSON over HTTP on 127.0.0.1. Rejects with a ControlPortError if the port cannot be opened. */
export async function openControlPort(port: number, simulation: Simulation, log: Log): Promise<ControlPort> {
  const server = createServer((request, response) => {
    handle(request, response, simulation).catch((error: unknown) => {
      log.error({ event: 'agent.control_call_failed', err: error }, 'control port call failed');
      respond(response, 500, { error: 'the simulator failed; see the log of the agent' });
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error: unknown) => {
    throw new ControlPortError(port, error);
  });
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  simulation: Simulation,
): Promise<void> {
  // Blocks web pages: DNS rebinding sends another Host, and a cross-origin form cannot send JSON.
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(request.headers.host ?? '')) {
    respond(response, 403, { error: 'the Host header must be 127.0.0.1 or localhost' });
    return;
  }
  const method = request.method ?? 'GET';
  if (method === 'POST' && !/^application\/json\b/.test(request.headers['content-type'] ?? '')) {
    respond(response, 415, { error: 'the Content-Type header must be application/json' });
    return;
  }
  const path = URL.parse(request.url ?? '/', 'http://127.0.0.1')?.pathname ?? '/';
  try {
    const body = method === 'POST' ? readJson(await readBounded(request, MAX_BODY_BYTES)) : undefined;
    const result = handleCall(method, segmentsOf(path), body, simulation);
    if (result === undefined) respond(response, 404, { error: `there is no ${method} ${path}` });
    else respond(response, 200, result);
  } catch (error) {
    if (error instanceof BadRequestError) respond(response, 400, { error: error.message });
    else if (error instanceof SimulationError) respond(response, 409, { error: error.message });
    else throw error;
  }
}

function segmentsOf(path: string): string[] {
  try {
    return path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    throw new BadRequestError('the path is not valid percent-encoding');
  }
}

function readJson(bytes: Buffer | undefined): unknown {
  if (bytes === undefined) throw new BadRequestError('the body is too large');
  try {
    return bytes.byteLength === 0 ? {} : JSON.parse(bytes.toString());
  } catch {
    throw new BadRequestError('the body is not JSON');
  }
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) return;
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.end(JSON.stringify(body));
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The control port is not listening on a TCP port');
  return address.port;
}
