import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';

import type { RequestId } from '@footbridge/protocol/ids';

import type { WebhookAnswer } from '../../flows/outbound/answer.ts';
import type { ReceiveWebhook } from '../../flows/outbound/receive-webhook.ts';
import { nextRequestId } from '../../flows/outbound/request-id.ts';
import type { Channel } from '../../flows/outbound/webhook-request.ts';
import { addressKey } from './client-address.ts';
import { parseBody, readBody } from './webhook-body.ts';
import type { BodyFault } from './webhook-body.ts';

/** The three paths and what their answers call the way a message took (W1). */
export const WEBHOOK_PATHS: ReadonlyMap<string, Channel> = new Map([
  ['/crm/webhook', 'imessage'],
  ['/crm/webhook/imessage', 'imessage'],
  ['/crm/webhook/sms', 'sms'],
]);

export interface WebhookRouteDeps {
  readonly receive: ReceiveWebhook;
  /** One call per answer, for the metrics. */
  readonly seen?: (answer: Pick<WebhookAnswer, 'status' | 'code' | 'signatureFault'>, ms: number) => void;
}

type Route = (request: IncomingMessage, response: ServerResponse, address: string) => boolean;

/**
 * The webhook, straight on Node's server: no router, no hooks, one write per answer. Returns false for a path that is none of the three.
 */
export function webhookRoute({ receive, seen }: WebhookRouteDeps): Route {
  function write(response: ServerResponse, requestId: RequestId, answer: Rendered, since: number): void {
    const { status, type, headers, body } = answer;
    const fields = [
      'Content-Type',
      type,
      'Content-Length',
      String(Buffer.byteLength(body)),
      'X-Request-Id',
      requestId,
    ];
    for (const name in headers) fields.push(name, headers[name] ?? '');
    response.writeHead(status, fields).end(body);
    seen?.(answer, performance.now() - since);
  }

  return (request, response, address) => {
    const channel = WEBHOOK_PATHS.get(pathOf(request.url ?? ''));
    if (channel === undefined) return false;
    const requestId = nextRequestId();
    if (request.method !== 'POST') {
      write(response, requestId, WRONG_METHOD, performance.now());
      return true;
    }
    readBody(request, (raw) => {
      const since = performance.now();
      if (typeof raw === 'number') return write(response, requestId, page(raw), since);
      const contentType = (request.headers['content-type'] ?? '').toLowerCase();
      const parsed = parseBody(raw, contentType);
      if (typeof parsed === 'number') return write(response, requestId, page(parsed), since);
      const { headers } = request;
      void receive({
        requestId,
        channel,
        contentType,
        headers,
        rawBody: raw,
        body: parsed.json,
        address: addressKey(address),
      }).then((answer) => write(response, requestId, { ...answer, type: JSON_TYPE }, since));
    });
    return true;
  };
}

interface Rendered extends WebhookAnswer {
  readonly type: string;
}

const JSON_TYPE = 'application/json; charset=utf-8';

const WRONG_METHOD: Rendered = {
  status: 405,
  code: 'METHOD_NOT_ALLOWED',
  type: JSON_TYPE,
  headers: { Allow: 'POST' },
  body: '{"error":"Method not allowed","code":"METHOD_NOT_ALLOWED"}',
};

/** What is wrong before the route begins is told as a page, as body parsers do: no code, and nothing of the request (W14). */
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

/** Without query; a slash at the end is forgiven. */
function pathOf(url: string): string {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
