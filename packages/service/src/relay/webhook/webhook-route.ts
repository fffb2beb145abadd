import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { exceedsJsonLimits } from '@footbridge/protocol/json-size';
import { codeEntry } from '@footbridge/protocol/codes';
import type { RequestId } from '@footbridge/protocol/ids';
import { STATUS_CODES } from '@footbridge/runtime/node-http';
import { nextRequestId } from '@footbridge/runtime/request-id';

import { errorResponse, rateLimitHeaders } from '../../platform/http/error-response.ts';
import type { ErrorResponse } from '../../platform/http/error-response.ts';
import type { SignatureFault } from '../keys/verify-signature.ts';
import { BUDGETS } from '../../platform/budgets.ts';
import { BodyMemory } from '../../platform/http/request-budget.ts';
import { BoundedShare } from '../../platform/bounded-share.ts';
import type { Occurrence } from '../../platform/extension-points.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { addressKey } from '../../platform/http/client-address.ts';
import { isPlainJson } from './webhook-request.ts';
import type { Channel } from './webhook-request.ts';
import type { WebhookOutcome } from './webhook-outcome.ts';
import type { ReceiveWebhook } from './receive-webhook.ts';

const MAX_BODY = 1_048_576;
/** How much of a rejected body is still read, so that the sender gets the response before the socket closes. */
const MAX_DRAINED = 16 * MAX_BODY;

export type BodyFault = 400 | 413 | 415;

/**
 * Collects the bytes of a webhook, reports their number as it grows, and calls back once: with all of them, or with the status that ends the request before its
 * signature is checked (W14). There is no callback when the sender disconnects.
 */
export function readBody(
  request: IncomingMessage,
  onSize: (bytes: number) => void,
  done: (body: Buffer | BodyFault) => void,
): void {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity')
    return rejectBody(request, 415, done);
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY) return rejectBody(request, 413, done);

  const chunks: Buffer[] = [];
  let size = 0;
  const collect = (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    onSize(size);
    if (size <= MAX_BODY) return;
    request.off('data', collect).off('end', finish);
    rejectBody(request, 413, done);
  };
  const finish = () => {
    const body = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    // The request references this function, and a large body may wait before it is parsed.
    chunks.length = 0;
    done(body);
  };
  request.on('data', collect).on('end', finish);
}

function rejectBody(request: IncomingMessage, status: BodyFault, done: (fault: BodyFault) => void): void {
  let drained = 0;
  request.on('data', (chunk: Buffer) => {
    drained += chunk.length;
    if (drained > MAX_DRAINED) request.destroy();
  });
  done(status);
}

const UTF8 = /;\s*charset\s*=\s*"?utf-?8"?\s*(;|$)/;

/** Returns the parsed body, undefined when there is nothing to parse, or the status that ends the request (W13, W14). */
export function parseBody(raw: Buffer, contentType: string): { json: unknown } | BodyFault {
  if (!isPlainJson(contentType)) return NOTHING;
  if (contentType.includes('charset') && !UTF8.test(contentType)) return 415;
  if (raw.length === 0) return NOTHING;
  if (!isUtf8(raw) || exceedsJsonLimits(raw, LIMITS)) return 400;
  const text = raw.toString('utf8');
  try {
    const json: unknown = JSON.parse(text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text);
    return typeof json === 'object' && json !== null ? { json } : 400;
  } catch {
    return 400;
  }
}

/** Without a limit, a megabyte of brackets, names or items would keep the parser busy for a tenth of a second, before any signature is checked. */
const LIMITS = { brackets: 32_768, names: 12_000, commas: 131_072 } as const;

const NOTHING = { json: undefined };
const BYTE_ORDER_MARK = 0xfeff;

export interface WebhookResponse extends ErrorResponse {
  /** From the catalogue; empty where the contract has none. */
  readonly code: string;
}

const SENT: Record<Channel, string> = { imessage: 'Message sent to iMessage', sms: 'Message sent to SMS' };
/** The same bytes for every fault (S1). */
export const UNSIGNED = '{"error":"Invalid signature"}';
const LIMITED = {
  status: 429,
  label: 'TOO_MANY_REQUESTS',
  code: 'TOO_MANY_REQUESTS',
  details: { message: 'Too many webhook requests for this location' },
};

const FAILED = { status: 500, label: 'Internal error', code: 'INTERNAL_ERROR' };

export function webhookResponse(outcome: WebhookOutcome): WebhookResponse {
  if (outcome.kind === 'sent') {
    const { requestId, channel, messageId, locationId, rate } = outcome;
    const body = { status: 'success', requestId, message: SENT[channel], messageId, locationId };
    return { status: 200, code: '', headers: rateLimitHeaders(rate), body: JSON.stringify(body) };
  }
  if (outcome.kind === 'unsigned') return { status: 401, code: '', headers: {}, body: UNSIGNED };
  if (outcome.kind === 'failed') return { ...errorResponse(FAILED, outcome.requestId), code: FAILED.code };
  const headers = rateLimitHeaders(outcome.rate);
  if (outcome.kind === 'limited') return { ...errorResponse({ ...LIMITED, headers }), code: LIMITED.code };
  const { code, label, details } = outcome.rejection;
  const error = { status: statusOf(code), label, code, details, headers };
  return { ...errorResponse(error, outcome.requestId), code };
}

const statusOf = (code: string): number => codeEntry(code, 'webhook')?.http ?? 500;

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
  readonly metrics: Pick<Metrics, 'webhook'>;
  /** A webhook was responded to. */
  readonly handled: Occurrence<[HandledRequest]>;
  readonly onUnsigned: (fault: SignatureFault) => void;
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
export function webhookRoute({ receive, metrics, handled, onUnsigned }: WebhookRouteDeps): Route {
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
    const ms = performance.now() - since;
    metrics.webhook(received.path, status, code, ms / 1000);
    handled.happened({ ...received, status, code, bytes, ms });
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
        if (outcome.kind === 'unsigned') onUnsigned(outcome.fault);
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
