import { createServer, request as forward } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { closeHttp, listen } from './loopback.ts';

export interface ForwardProxy {
  /** Host and port, without scheme. */
  readonly address: string;
  /** Every request the proxy got. */
  readonly asked: { readonly line: string; readonly authorization: string | undefined }[];
  stop(): Promise<void>;
}

/**
 * The proxy that `HTTP_PROXY` and `HTTPS_PROXY` name: CONNECT for https, absolute URLs for http. Every host name means 127.0.0.1.
 * With `authorization`, requests without that `Proxy-Authorization` get a 407.
 */
export async function startForwardProxy(authorization?: string): Promise<ForwardProxy> {
  const asked: ForwardProxy['asked'] = [];
  const sockets = new Set<Socket>();
  const isRefused = ({ method, url, headers }: IncomingMessage) => {
    asked.push({ line: `${method} ${url}`, authorization: headers['proxy-authorization'] });
    return authorization !== undefined && headers['proxy-authorization'] !== authorization;
  };
  const server = createServer((request, response) => {
    if (isRefused(request)) {
      response.writeHead(407).end();
      return;
    }
    const { port, pathname, search } = new URL(request.url ?? '');
    const { 'proxy-authorization': _ours, ...headers } = request.headers;
    const options = { host: '127.0.0.1', port, path: pathname + search, method: request.method, headers };
    const onward = forward(options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward.on('error', () => response.destroy()));
  });
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    sockets.add(socket.on('error', () => {}));
    if (isRefused(request)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const tunnel = connect({ host: '127.0.0.1', port: Number(request.url?.split(':')[1]) }, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      socket.pipe(tunnel).pipe(socket);
    });
    sockets.add(tunnel.on('error', () => socket.destroy()));
  });
  const port = await listen(server);
  return {
    address: `127.0.0.1:${port}`,
    asked,
    stop() {
      for (const socket of sockets) socket.destroy();
      return closeHttp(server);
    },
  };
}
