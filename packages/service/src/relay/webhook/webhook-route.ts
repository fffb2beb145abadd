import type { IncomingMessage, ServerResponse } from 'node:http';

import type { RequestId } from '@footbridge/protocol/ids';
import { STATUS_CODES } from '@footbridge/runtime/node-http';
import { nextRequestId } from '@footbridge/runtime/request-id';

import type { ReceiveWebhook } from './receive-webhook.ts';
import type { SignatureFault } from '../keys/verify-signature.ts';
import type { WebhookOutcome } from './webhook-outcome.ts';
import type { Channel } from './webhook-request.ts';
import { BUDGETS } from '../../platform/budgets.ts';
import { BodyMemory } from '../../platform/http/request-body.ts';
import { BoundedShare } from '../../platform/http/bounded-share.ts';
import { addressKey } from '../../platform/http/client-address.ts';
import { parseBody, readBody } from './webhook-body.ts';
import type { BodyFault } from './webhook-body.ts';
import { webhookResponse } from './webhook-response.ts';
import type { WebhookResponse } from './webhook-response.ts';

/** The three paths and the channel that each response names (W1). */
export const WEBHOOK_PATHS: ReadonlyMap<string, Channel> = new Map([
  ['/crm/webhook', 'imessage'],
  ['/crm/webhook/imessage', 'imessage'],
  ['/crm/webhook/sms', 'sms'],
]);

/** Parsing larger bodies takes at most a quarter of the event loop's time: one can take ten milliseconds, before its signature is checked (T54). */
const MAX_PARSED_AT_ONCE = 32_768;

export interface WebhookRouteDeps {
  readonly receive: ReceiveWebhook;
  /** Called once per response. */
  readonly onResponse?: (handled: HandledRequest) => void;
  readonly onUnsigned?: (fault: SignatureFault) => void;
}

/** A request and its response, for metrics, traces and the access log. */
export interface HandledRequest extends Pick<WebhookResponse, 'status' | 'code'> {
  readonly method: string;
  readonly path: string;
  readonly requestId: RequestId;
  /** Whether a trusted key signed the request. */
  readonly isSigned: boolean;
  /** The raw header, not validated. */
  readonly traceparent: unknown;
  readonly ms: number;
  /** The size of the response body. */
  readonly bytes: number;
}

type Route = (request: IncomingMessage, response: ServerResponse, address: string) => boolean;

/** The webhook directly on Node's server: no router, no hooks, one write per response. Returns false for any other path. */
export function webhookRoute({ receive, onResponse, onUnsigned }: WebhookRouteDeps): Route {
  const memory = new BodyMemory(BUDGETS.webhooks.memoryBytes);
  const largeBodies = new BoundedShare();

  function write(received: Received, response: ServerResponse, rendered: Rendered, since: number): void {
    const { status, code, type = JSON_TYPE, headers, body } = rendered;
    const bytes = Buffer.byteLength(body);
    const fields = [
      'Content-Type',
      type,
      'Content-Length',
      String(bytes),
      'X-Request-Id',
      received.requestId,
    ];
    for (const name in headers) fields.push(name, headers[name] ?? '');
    response.writeHead(status, fields).end(body);
    onResponse?.({ ...received, status, code, bytes, ms: performance.now() - since });
  }

  return (request, response, address) => {
    const path = pathOf(request.url ?? '');
    const channel = WEBHOOK_PATHS.get(path);
    if (channel === undefined) return false;
    const requestId = nextRequestId();
    const { method = '' } = request;
    const { traceparent } = request.headers;
    const received = { method, path, requestId, traceparent, isSigned: false };
    if (method !== 'POST') {
      write(received, response, WRONG_METHOD, performance.now());
      return true;
    }
    const onSize = (bytes: number) => memory.grow(request, response, bytes);
    const handle = (raw: Buffer, since: number) => {
      const contentType = (request.headers['content-type'] ?? '').toLowerCase();
      const parsed = parseBody(raw, contentType);
      if (typeof parsed === 'number') return write(received, response, page(parsed), since);
      const respond = (outcome: WebhookOutcome) => {
        if (outcome.kind === 'unsigned') onUnsigned?.(outcome.fault);
        received.isSigned = outcome.kind !== 'unsigned';
        write(received, response, webhookResponse(outcome), since);
      };
      const outcome = receive({
        requestId,
        channel,
        contentType,
        headers: request.headers,
        rawBody: raw,
        body: parsed.json,
        address: addressKey(address),
      });
      if (outcome instanceof Promise) void outcome.then(respond);
      else respond(outcome);
    };
    readBody(request, onSize, (raw) => {
      const since = performance.now();
      if (typeof raw === 'number') write(received, response, page(raw), since);
      else if (raw.length <= MAX_PARSED_AT_ONCE) handle(raw, since);
      else largeBodies.run(() => handle(raw, since));
    });
    return true;
  };
}

type Received = Pick<HandledRequest, 'method' | 'path' | 'requestId' | 'traceparent' | 'isSigned'>;

interface Rendered extends WebhookResponse {
  /** The default is JSON. */
  readonly type?: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';

const WRONG_METHOD: Rendered = {
  status: 405,
  code: 'METHOD_NOT_ALLOWED',
  headers: { Allow: 'POST' },
  body: '{"error":"Method not allowed","code":"METHOD_NOT_ALLOWED"}',
};

/** Errors before the route are HTML pages, as body parsers render them: no code, nothing of the request (W14). */
function page(status: BodyFault): Rendered {
  const title = STATUS_CODES[status] ?? 'Error';
  return {
    status,
    code: '',
    type: 'text/html; charset=utf-8',
    headers: { 'Content-Security-Policy': "default-src 'none'", 'X-Content-Type-Options': 'nosniff' },
    body: `<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Error</title></head>\n<body><pre>${title}</pre></body>\n</html>\n`,
  };
}

/** The path without query and trailing slash. */
function pathOf(url: string): string {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
