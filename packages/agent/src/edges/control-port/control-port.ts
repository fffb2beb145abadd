import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

import type { Log } from '../../log.ts';
import { Impossible } from '../../ports/messages/impossible.ts';
import { answerCall } from './calls.ts';
import type { World } from './calls.ts';
import { BadCall } from './json-body.ts';

const MAX_BODY = 150 * 1024 * 1024;

export interface ControlPort {
  readonly url: string;
  close(): Promise<void>;
}

/** The simulator's control port: JSON over HTTP on 127.0.0.1, to play the people on the other side. */
export async function openControlPort(port: number, world: World, log: Log): Promise<ControlPort> {
  const server = createServer((request, response) => {
    handle(request, response, world).catch((error: unknown) => {
      log.error({ err: error }, 'a call to the control port failed');
      answer(response, 500, { error: 'the simulator failed; its log says how' });
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

async function handle(request: IncomingMessage, response: ServerResponse, world: World): Promise<void> {
  // A page in a browser that was lured here comes with a name of its own or without JSON: neither gets in.
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(request.headers.host ?? '')) {
    answer(response, 403, { error: 'this port answers to 127.0.0.1 and localhost only' });
    return;
  }
  const method = request.method ?? 'GET';
  if (method === 'POST' && !/^application\/json\b/.test(request.headers['content-type'] ?? '')) {
    answer(response, 415, { error: 'send application/json' });
    return;
  }
  const path = URL.parse(request.url ?? '/', 'http://127.0.0.1')?.pathname ?? '/';
  try {
    const body = method === 'POST' ? readJson(await readAll(request)) : undefined;
    const result = answerCall(method, segmentsOf(path), body, world);
    if (result === undefined) answer(response, 404, { error: `there is no ${method} ${path}` });
    else answer(response, 200, result);
  } catch (error) {
    if (error instanceof BadCall) answer(response, 400, { error: error.message });
    else if (error instanceof Impossible) answer(response, 409, { error: error.message });
    else throw error;
  }
}

function segmentsOf(path: string): string[] {
  try {
    return path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    throw new BadCall('the path cannot be decoded');
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    length += chunk.byteLength;
    if (length > MAX_BODY) throw new BadCall('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function readJson(bytes: Buffer): unknown {
  try {
    return bytes.byteLength === 0 ? {} : JSON.parse(bytes.toString());
  } catch {
    throw new BadCall('the body is not JSON');
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) return;
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.end(JSON.stringify(body));
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The control port has no number');
  return address.port;
}
