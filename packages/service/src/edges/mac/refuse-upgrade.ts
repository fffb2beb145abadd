import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import { codeEntry } from '@footbridge/protocol/codes';
import type { EnrolmentCode } from '@footbridge/protocol/codes';

export interface Refusal {
  readonly code: EnrolmentCode;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers an upgrade with an HTTP error and ends the connection. */
export function refuseUpgrade(socket: Duplex, { code, message, headers }: Refusal): void {
  const { http: status = 500, meaning } = codeEntry(code, 'enrolment') ?? {};
  const body = JSON.stringify({ error: meaning, code, message });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
