import type { Socket } from 'node:net';

import { STATUS_CODES } from '@footbridge/runtime/node-http';

import { errorResponse } from './error-response.ts';
import type { HttpError } from './error-response.ts';

/** Responds to a WebSocket upgrade with an HTTP error and closes the connection, even if the client keeps its side open (T29). */
export function rejectUpgrade(socket: Socket, error: HttpError): void {
  const { status, headers, body } = errorResponse(error);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
}
