// A CRM that accepts every status call, over plain HTTP and over TLS.
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

import { certificateFor } from '@footbridge/testkit/certificate';

import { HttpMessages, httpResponse } from '../environment/http-messages.ts';
import { serve } from '../environment/worker.ts';

const ACCEPTED = httpResponse(200, 'OK', '{"success":true,"traceId":"bench"}');
const certificate = certificateFor('localhost');
let connections = 0;

function accept(socket: Socket): void {
  connections++;
  const messages = new HttpMessages(() => socket.write(ACCEPTED));
  socket.on('data', (chunk) => messages.push(chunk)).on('error', () => socket.destroy());
}

const listen = (server: Server) =>
  new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });

const calls = {
  async listen(): Promise<{ http: string; https: string; cert: string }> {
    const plain = await listen(createServer({ noDelay: true }, accept));
    const tls = await listen(createTlsServer({ ...certificate, noDelay: true }, accept));
    return { http: `http://127.0.0.1:${plain}`, https: `https://localhost:${tls}`, cert: certificate.cert };
  },
  /** Connections accepted since the last call. */
  connections(): number {
    const accepted = connections;
    connections = 0;
    return accepted;
  },
};

export type CallServer = typeof calls;

serve(calls);
