import { createServer, request as send } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

import { maskedBody, maskedHeaders } from './exchange.ts';
import type { HttpExchange, Leg, WireLog } from './exchange.ts';

/** Passes requests on byte for byte and writes down both directions. `target` may move: a killed service comes back elsewhere. */
export function recordHttp(
  log: WireLog,
  legOf: (path: string) => Leg | undefined,
  target: () => string,
): Server {
  return createServer((incoming, outgoing) => {
    void pass(log, legOf(incoming.url ?? '/'), target(), incoming, outgoing);
  });
}

async function pass(
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
  const settle = (status: number | null, headers: readonly string[], answer: Buffer) => {
    entry.status = status;
    entry.answerHeaders = maskedHeaders(headers);
    entry.answerBody = maskedBody(readable(answer));
    entry.answerBytes = answer.length;
    entry.ms = performance.now() - started;
    if (leg !== undefined) log.changed(entry);
  };
  const onward = send(
    new URL(path, target),
    { method: incoming.method ?? 'GET', headers: incoming.rawHeaders, agent: false },
    (answer) => {
      collect(answer).then(
        (bytes) => {
          settle(answer.statusCode ?? 0, answer.rawHeaders, bytes);
          outgoing.writeHead(answer.statusCode ?? 502, withoutLength(answer.rawHeaders, bytes.length));
          outgoing.end(bytes);
        },
        () => cut(),
      );
    },
  );
  // No answer came: the caller must see the same, a broken connection.
  const cut = () => {
    settle(null, [], Buffer.alloc(0));
    outgoing.destroy();
  };
  onward.on('error', cut);
  onward.end(body);
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

const SHOWN = 64 * 1024;

function readable(bytes: Buffer): string {
  const text = bytes.subarray(0, SHOWN).toString('utf8');
  return text.includes('\u0000') || text.includes('\uFFFD')
    ? `(${bytes.length} bytes that are not text)`
    : text;
}
