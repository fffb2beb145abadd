// The CRM of the benchmark: responds like HighLevel and records when each call arrives. That of the testkit takes 136 µs of CPU for a
// status, without TLS, where the fast floor takes 97 µs for an inbound message: it would limit what is measured. This one takes 56 µs.
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

import { listen } from '@footbridge/testkit/loopback';

import { indexOf, now } from './messages.ts';
import { serve } from './worker.ts';

export interface Arrivals {
  /** Milliseconds on the shared clock by message index; 0 if the call never arrived. */
  readonly pending: Float64Array;
  readonly delivered: Float64Array;
  readonly inbound: Float64Array;
  /** Calls that a correct bridge would not make: repeated, out of order or unknown. */
  readonly wrong: readonly string[];
}

let run = 0;
let arrivals = empty(0, 0);
let wrong: string[] = [];
let latencyMs = 0;

/** The response time varies around the latency by up to this fraction of it. */
const JITTER = 0.25;

function empty(outbound: number, inbound: number) {
  return {
    pending: new Float64Array(outbound),
    delivered: new Float64Array(outbound),
    inbound: new Float64Array(inbound),
  };
}

function handle(request: IncomingMessage, response: ServerResponse): void {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const [status, body] = respond(`${request.method} ${request.url}`, Buffer.concat(parts).toString());
    const headers = {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    };
    const end = () => response.writeHead(status, headers).end(body);
    if (latencyMs === 0) end();
    else setTimeout(end, latencyMs * (1 + JITTER * (2 * Math.random() - 1)));
  });
}

type CrmResponse = readonly [status: number, body: string];

function respond(call: string, body: string): CrmResponse {
  if (call.startsWith('PUT /conversations/messages/')) return statusUpdate(call, body);
  if (call.startsWith('POST /conversations/messages/inbound')) return inboundMessage(body);
  if (/^(GET|POST) \/contacts\//.test(call)) return contact(call, body);
  if (call.startsWith('POST /oauth/token')) return token(body);
  wrong.push(`unknown call ${call.split('?')[0]}`);
  return [404, '{"statusCode":404}'];
}

function statusUpdate(call: string, body: string): CrmResponse {
  const index = indexOf(call, run);
  if (index !== undefined) {
    const isDelivered = body.includes('"delivered"');
    if (!isDelivered && !body.includes('"pending"')) wrong.push(`status ${body}`);
    if (!isDelivered && arrivals.delivered[index] !== 0) wrong.push('pending after delivered');
    record(isDelivered ? 'delivered' : 'pending', index);
  }
  return [200, '{"success":true,"traceId":"bench"}'];
}

const STORED =
  '{"success":true,"conversationId":"conversation-of-bench","messageId":"message-of-bench","message":"Message stored","contactId":"contact-of-bench"}';

function inboundMessage(body: string): CrmResponse {
  const index = indexOf(body, run);
  if (index !== undefined) record('inbound', index);
  return [201, STORED];
}

function record(kind: keyof typeof arrivals, index: number): void {
  const times = arrivals[kind];
  if (times[index] !== 0) wrong.push(`${kind} twice`);
  times[index] = now();
}

/** Returns a contact of the requesting location for any phone number. */
function contact(call: string, body: string): CrmResponse {
  const locationId = /locationId(?:=|":")(\w+)/.exec(call + body)?.[1];
  const found = JSON.stringify({ id: `contact${locationId}`, locationId, phone: '+14155550100' });
  return call.startsWith('POST /contacts/search')
    ? [200, `{"contacts":[${found}],"total":1,"traceId":"bench"}`]
    : [200, `{"contact":${found},"traceId":"bench"}`];
}

/** The authorization code is the location id. */
function token(body: string): CrmResponse {
  const given = body.startsWith('{')
    ? new Map(Object.entries(JSON.parse(body) as Record<string, string>))
    : new Map(new URLSearchParams(body));
  const locationId = given.get('code') ?? given.get('refresh_token')?.replace('refresh.', '');
  const tokens = {
    access_token: `access.${locationId}`,
    token_type: 'Bearer',
    expires_in: 86_399,
    refresh_token: `refresh.${locationId}`,
    scope: 'conversations/message.write contacts.readonly contacts.write',
    userType: 'Location',
    companyId: 'company-of-bench',
    userId: 'user-of-bench',
    locationId,
  };
  return [200, JSON.stringify(tokens)];
}

const calls = {
  /** Serves TLS with a certificate, and plain HTTP without one. */
  async listen(certificate: { key: string; cert: string } | undefined): Promise<string> {
    const server =
      certificate === undefined ? createServer(handle) : createTlsServer({ ...certificate }, handle);
    server.keepAliveTimeout = 60_000;
    return `${certificate === undefined ? 'http' : 'https'}://localhost:${await listen(server)}`;
  },
  begin(next: { run: number; outbound: number; inbound: number; latencyMs?: number }) {
    run = next.run;
    latencyMs = next.latencyMs ?? 0;
    arrivals = empty(next.outbound, next.inbound);
    wrong = [];
  },
  arrivals: (): Arrivals => ({ ...arrivals, wrong: wrong.slice(0, 5) }),
};

export type CrmCalls = typeof calls;

serve(calls);
