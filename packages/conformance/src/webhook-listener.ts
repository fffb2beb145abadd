import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';

/** One request of the CRM, unmodified. */
export interface ReceivedWebhook {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** When the request was read, on the monotonic clock. */
  readonly at: number;
  /** When the response was sent, on the same clock. */
  readonly respondedAt: number;
  readonly status: number;
}

/** How the listener responds to the requests of one message: the last entry applies to all further requests. */
export type Script = readonly [Reply, ...Reply[]];

export interface Reply {
  readonly status: 200 | 400 | 401 | 429 | 503;
  readonly retryAfterSec?: number;
}

/** Stands in for the service. Requests are matched to messages by a marker in their body. */
export interface WebhookListener {
  /** The address to configure in the CRM. */
  readonly url: string;
  /** Sets the replies to requests that contain `marker`. */
  expect(marker: string, script: Script): void;
  /** Returns the requests that contained `marker`, in order of arrival. */
  received(marker: string): readonly ReceivedWebhook[];
  /** Requests without a known marker. */
  readonly strays: readonly ReceivedWebhook[];
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 2 * 1024 * 1024;
const MAX_STRAYS = 100;
const ACCEPTED: Script = [{ status: 200 }];
/** The error bodies of the service. */
const ERRORS: Readonly<Record<number, object>> = {
  400: { error: 'Missing required fields', code: 'MISSING_REQUIRED_FIELDS', message: 'A conformance test.' },
  401: { error: 'Unauthorized' },
  429: { error: 'Too many requests', code: 'TOO_MANY_REQUESTS' },
  503: { error: 'Service unavailable', code: 'SERVICE_UNAVAILABLE' },
};

/** Rejects with the error of Node when the address cannot be used. */
export async function openListener(host: string, port: number): Promise<WebhookListener> {
  const expected = new Map<string, { readonly script: Script; readonly received: ReceivedWebhook[] }>();
  const strays: ReceivedWebhook[] = [];
  const server = createServer((request, response) => {
    void receive(request).then((body) => {
      if (body === undefined) {
        response.destroy();
        return;
      }
      const marker = [...expected.keys()].find((one) => body.includes(one));
      const { script, received } = expected.get(marker ?? '') ?? { script: ACCEPTED, received: strays };
      const reply = script[Math.min(received.length, script.length - 1)] ?? script[0];
      const at = performance.now();
      respond(response, reply);
      const { method = '', url = '/', headers } = request;
      const [path = '/'] = url.split('?');
      const respondedAt = performance.now();
      if (received !== strays || strays.length < MAX_STRAYS)
        received.push({ method, path, headers, body, at, respondedAt, status: reply.status });
    });
  });
  const url = await listen(server, host, port);
  return {
    url,
    expect: (marker, script) => void expected.set(marker, { script, received: [] }),
    received: (marker) => expected.get(marker)?.received ?? [],
    strays,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Resolves with undefined if the body is too large or the connection fails. */
async function receive(request: IncomingMessage): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > MAX_BODY_BYTES) return undefined;
      parts.push(part);
    }
    return Buffer.concat(parts);
  } catch {
    return undefined;
  }
}

function respond(response: ServerResponse, { status, retryAfterSec }: Reply): void {
  const headers: OutgoingHttpHeaders = { 'Content-Type': 'application/json' };
  if (retryAfterSec !== undefined) headers['Retry-After'] = String(retryAfterSec);
  const requestId = randomUUID();
  const body = ERRORS[status] ?? { status: 'success', requestId, message: 'A conformance test.' };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

async function listen(server: ReturnType<typeof createServer>, host: string, port: number): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  const used = typeof address === 'object' && address !== null ? address.port : port;
  return `http://${host.includes(':') ? `[${host}]` : host}:${used}`;
}
