import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

/** One call that was forwarded. Has no query and no body, which may contain numbers and texts. */
export interface ForwardedCall {
  readonly method: string;
  readonly path: string;
  /** 502 when the program did not respond. */
  readonly status: number;
  readonly ms: number;
}

/** Not forwarded: these headers belong to one connection, and fetch decodes bodies. */
const NOT_FORWARDED = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'content-encoding',
  'te',
  'trailer',
]);

/** A server that passes each request to `target` and returns its response. */
export function createForwardServer(target: string, onCall: (call: ForwardedCall) => void): Server {
  return createServer((request, response) => {
    const started = performance.now();
    const { method = 'GET', url = '/' } = request;
    void forward(request, response, target).then((status) => {
      const [path = '/'] = url.split('?');
      onCall({ method, path, status, ms: Math.round(performance.now() - started) });
    });
  });
}

async function forward(request: IncomingMessage, response: ServerResponse, target: string): Promise<number> {
  const { method = 'GET', url = '/' } = request;
  try {
    const body = await buffer(request);
    const received = await fetch(target + url, {
      method,
      headers: headersOf(request),
      redirect: 'manual',
      ...(body.length > 0 && { body }),
    });
    const headers = [...received.headers].filter(([name]) => !NOT_FORWARDED.has(name));
    response.writeHead(received.status, Object.fromEntries(headers));
    await pipeline(received.body ?? [], response);
    return received.status;
  } catch {
    if (response.headersSent) {
      response.destroy();
      return 502;
    }
    response.writeHead(502, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ message: `${target} did not respond` }));
    return 502;
  }
}

function headersOf({ headers }: IncomingMessage): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    NOT_FORWARDED.has(name) || value === undefined
      ? []
      : [[name, Array.isArray(value) ? value.join(', ') : value]],
  );
}
