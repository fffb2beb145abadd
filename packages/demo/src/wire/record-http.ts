import { createServer, request as send } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

import { maskedBody, maskedHeaders } from './exchange.ts';
import type { HttpExchange, Leg, WireLog } from './exchange.ts';

/** An HTTP proxy that forwards bodies unchanged and records requests and responses. `target` may change between requests. */
export function recordHttp(
  log: WireLog,
  legOf: (path: string) => Leg | undefined,
  target: () => string,
): Server {
  return createServer((incoming, outgoing) => {
    void forward(log, legOf(incoming.url ?? '/'), target(), incoming, outgoing);
  });
}

async function forward(
  log: WireLog,
  leg: Leg | undefined,
  target: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const body = await collect(incoming);
  const path = incoming.url ?? '/';
  const started = performance.now();
  const entry: HttpExchange = {
    kind: 'http',
    n: log.next(),
    at: Date.now(),
    leg: leg ?? 'crm→service',
    method: incoming.method ?? 'GET',
    path: maskedBody(path),
    requestHeaders: maskedHeaders(incoming.rawHeaders),
    requestBody: maskedBody(readable(body)),
    requestBytes: body.length,
    status: undefined,
    answerHeaders: [],
    answerBody: '',
    answerBytes: 0,
    ms: undefined,
  };
  if (leg !== undefined) log.add(entry);
  const recordResponse = (status: number | null, headers: readonly string[], bytes: Buffer) => {
    entry.status = status;
    entry.answerHeaders = maskedHeaders(headers);
    entry.answerBody = maskedBody(readable(bytes));
    entry.answerBytes = bytes.length;
    entry.ms = performance.now() - started;
    if (leg !== undefined) log.changed(entry);
  };
  const upstream = send(
    new URL(path, target),
    { method: incoming.method ?? 'GET', headers: incoming.rawHeaders, agent: false },
    (response) => {
      collect(response).then(
        (bytes) => {
          // The client was killed or gave up: for it there was no response.
          if (outgoing.destroyed) return recordResponse(null, [], Buffer.alloc(0));
          recordResponse(response.statusCode ?? 0, response.rawHeaders, bytes);
          outgoing.writeHead(response.statusCode ?? 502, withoutLength(response.rawHeaders, bytes.length));
          outgoing.end(bytes);
        },
        () => disconnect(),
      );
    },
  );
  // Without a response, the client must see a broken connection too.
  const disconnect = () => {
    recordResponse(null, [], Buffer.alloc(0));
    outgoing.destroy();
  };
  upstream.on('error', disconnect);
  upstream.end(body);
}

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

function withoutLength(raw: readonly string[], length: number): string[] {
  const headers: string[] = [];
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? '';
    if (/^(transfer-encoding|content-length|connection|keep-alive)$/i.test(name)) continue;
    headers.push(name, raw[index + 1] ?? '');
  }
  return [...headers, 'Content-Length', String(length)];
}

const MAX_RECORDED = 64 * 1024;

function readable(bytes: Buffer): string {
  const text = bytes.subarray(0, MAX_RECORDED).toString('utf8');
  return text.includes('\u0000') || text.includes('\uFFFD') ? `(${bytes.length} bytes of binary data)` : text;
}
