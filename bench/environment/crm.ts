// The CRM of the benchmark. Responds like HighLevel at minimal cost and records when each call arrives.
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

import { now } from './clock.ts';
import { HttpMessages, httpResponse } from './http-messages.ts';
import { indexOf } from './message-ids.ts';
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

function handle(socket: Socket): void {
  const messages = new HttpMessages((head, body) => {
    const response = respond(head, body);
    if (latencyMs === 0) socket.write(response);
    else setTimeout(() => socket.write(response), withJitter(latencyMs));
  });
  socket.on('data', (chunk) => messages.push(chunk));
  socket.on('error', () => socket.destroy());
}

const withJitter = (ms: number) => ms * (1 + JITTER * (2 * Math.random() - 1));

function respond(head: string, body: Buffer): string {
  const line = head.slice(0, head.indexOf('\r\n'));
  if (line.startsWith('PUT /conversations/messages/')) return statusUpdate(line, body);
  if (line.startsWith('POST /conversations/messages/inbound')) return inboundMessage(body);
  if (line.startsWith('GET /contacts/') || line.startsWith('POST /contacts/'))
    return contact(line, body.toString('latin1'));
  if (line.startsWith('POST /oauth/token')) return token(body.toString());
  wrong.push(`unknown call ${line.split('?')[0]}`);
  return httpResponse(404, 'Not Found', '{"statusCode":404}');
}

const ACCEPTED = httpResponse(200, 'OK', '{"success":true,"traceId":"bench"}');

function statusUpdate(line: string, body: Buffer): string {
  const index = indexOf(line, run);
  if (index === undefined) return ACCEPTED;
  const isDelivered = body.includes('"delivered"');
  if (!isDelivered && !body.includes('"pending"')) wrong.push(`status ${body.toString()}`);
  if (!isDelivered && arrivals.delivered[index] !== 0) wrong.push('pending after delivered');
  record(isDelivered ? 'delivered' : 'pending', index);
  return ACCEPTED;
}

const STORED = httpResponse(
  201,
  'Created',
  '{"success":true,"conversationId":"conversation-of-bench","messageId":"message-of-bench","message":"Message stored","contactId":"contact-of-bench"}',
);

function inboundMessage(body: Buffer): string {
  const index = indexOf(body.toString('latin1'), run);
  if (index !== undefined) record('inbound', index);
  return STORED;
}

function record(kind: keyof typeof arrivals, index: number): void {
  const times = arrivals[kind];
  if (times[index] !== 0) wrong.push(`${kind} twice`);
  times[index] = now();
}

/** Returns a contact of the requesting location for any phone number. */
function contact(line: string, body: string): string {
  const locationId = /locationId(?:=|":")(\w+)/.exec(line + body)?.[1];
  const found = JSON.stringify({ id: `contact${locationId}`, locationId, phone: '+14155550100' });
  return line.startsWith('POST /contacts/search')
    ? httpResponse(200, 'OK', `{"contacts":[${found}],"total":1,"traceId":"bench"}`)
    : httpResponse(200, 'OK', `{"contact":${found},"traceId":"bench"}`);
}

/** The authorization code is the location id. */
function token(body: string): string {
  const given = body.startsWith('{')
    ? new Map(Object.entries(JSON.parse(body) as Record<string, string>))
    : new Map(new URLSearchParams(body));
  const locationId = given.get('code') ?? given.get('refresh_token')?.replace('refresh.', '');
  return httpResponse(
    200,
    'OK',
    JSON.stringify({
      access_token: `access.${locationId}`,
      token_type: 'Bearer',
      expires_in: 86_399,
      refresh_token: `refresh.${locationId}`,
      scope: 'conversations/message.write contacts.readonly contacts.write',
      userType: 'Location',
      companyId: 'company-of-bench',
      userId: 'user-of-bench',
      locationId,
    }),
  );
}

const calls = {
  /** Serves TLS with a certificate, and plain HTTP without one. */
  listen: (certificate: { key: string; cert: string } | undefined) =>
    new Promise<string>((resolve) => {
      const server =
        certificate === undefined
          ? createServer({ noDelay: true }, handle)
          : createTlsServer({ ...certificate, noDelay: true }, handle);
      const scheme = certificate === undefined ? 'http' : 'https';
      server.listen(0, '127.0.0.1', () => {
        resolve(`${scheme}://localhost:${(server.address() as AddressInfo).port}`);
      });
    }),
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
