import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Cleanup } from './cleanup.ts';

/** A web server on loopback that records the paths of its requests. */
export interface FileServer {
  readonly url: string;
  readonly port: number;
  readonly visits: string[];
}

export async function serveFiles(
  cleanup: Cleanup,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  host = '127.0.0.1',
): Promise<FileServer> {
  const visits: string[] = [];
  const server = createServer((request, response) => {
    visits.push(request.url ?? '');
    answer(request, response);
  });
  server.listen(0, host);
  await once(server, 'listening');
  cleanup.add(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, port, visits };
}

/** Serves the same content at every path. */
export function always(
  bytes: Uint8Array,
  mime: string,
): (request: unknown, response: ServerResponse) => void {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': mime, 'content-length': bytes.byteLength });
    response.end(bytes);
  };
}
