import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import ed25519 from '../vectors/signatures-ed25519.json' with { type: 'json' };
import { makeFooter } from './footer.ts';
import { makeReaction } from './make-reaction.ts';
import type { OutboundMessage } from './outbound-message.ts';
import { BridgeClient, sendMessage, type ClientOptions } from './send-message.ts';
import { verifyWebhook } from './verify-webhook.ts';

const { privateKeyPem: privateKey, publicKeyPem: publicKey } = ed25519.keys.seed;
const message: OutboundMessage = {
  locationId: 'locTEST1',
  contactId: 'c1',
  phone: '+15555550100',
  message: 'Hi',
  messageId: 'm-1',
};
const accepted = {
  status: 'success',
  requestId: 'r-1',
  message: 'sent',
  messageId: 'm-1',
  locationId: 'locTEST1',
};

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Freezes the date until the end of the test. Timers keep running. */
function stopDate(now: string): void {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(now) });
  cleanups.push(() => vi.useRealTimers());
}

type Step = 'hang up' | 'hang' | { status: number; headers?: Record<string, string>; body?: unknown };

/** A bridge that responds with the given steps in order, repeats the last one, and records the requests. */
async function bridge(steps: readonly Step[], options: Partial<ClientOptions> = {}) {
  const bodies: string[] = [];
  const signatures: boolean[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const waits: number[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
    const raw = Buffer.concat(chunks);
    const step = steps[Math.min(bodies.length, steps.length - 1)];
    bodies.push(raw.toString());
    headers.push(request.headers);
    signatures.push((await verifyWebhook(raw, request.headers, [{ publicKey, scheme: 'Ed25519' }])).ok);
    if (step === 'hang up') request.socket.destroy();
    else if (step !== 'hang')
      response.writeHead(step?.status ?? 500, step?.headers).end(JSON.stringify(step?.body ?? {}));
  };
  const server = createServer((request, response) => void respond(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const client = new BridgeClient({
    url: `http://127.0.0.1:${port}/crm/webhook`,
    privateKey,
    sleep: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
    ...options,
  });
  return { client, bodies, headers, signatures, waits: () => waits.filter((ms) => ms > 0) };
}

const OK: Step = { status: 200, body: accepted };

describe('sendMessage', () => {
  it('signs and posts a message', async () => {
    const { client, bodies, signatures } = await bridge([OK]);
    expect(await sendMessage(client, message)).toEqual({
      ok: true,
      requestId: 'r-1',
      messageId: 'm-1',
      locationId: 'locTEST1',
      attempts: 1,
    });
    expect(bodies.map((body) => JSON.parse(body) as unknown)).toEqual([message]);
    expect(signatures).toEqual([true]);
  });

  it('accepts a response without a message id', async () => {
    const { client } = await bridge([{ status: 200, body: { ...accepted, messageId: null } }]);
    expect(await sendMessage(client, message)).toMatchObject({ ok: true, messageId: null });
  });

  it.each<[string, Step]>([
    ['429', { status: 429, body: { error: 'TOO_MANY_REQUESTS', code: 'TOO_MANY_REQUESTS' } }],
    ['500', { status: 500, body: { code: 'INTERNAL_ERROR' } }],
    ['503 from a proxy', { status: 503 }],
    ['a closed connection', 'hang up'],
  ])('retries after %s with the same bytes', async (_, step) => {
    const { client, bodies, signatures, waits } = await bridge([step, step, OK]);
    expect(await sendMessage(client, message)).toMatchObject({ ok: true, attempts: 3 });
    expect(new Set(bodies).size).toBe(1);
    expect(signatures).toEqual([true, true, true]);
    expect(waits()).toHaveLength(2);
    expect(waits()[0]).toBeGreaterThanOrEqual(250);
    expect(waits()[1]).toBeLessThanOrEqual(1000);
  });

  it.each([
    ['Retry-After in seconds', { 'Retry-After': '7', 'RateLimit-Reset': '9' }, 7000],
    ['RateLimit-Reset', { 'RateLimit-Reset': '9' }, 9000],
    ['Retry-After 0', { 'Retry-After': '0' }, undefined],
  ])('honours %s', async (_, headers, expected) => {
    const { client, waits } = await bridge([{ status: 429, headers }, OK]);
    expect(await sendMessage(client, message)).toMatchObject({ ok: true, attempts: 2 });
    expect(waits()[0]).toBe(expected);
  });

  it('honours Retry-After as a date', async () => {
    stopDate('2026-01-01T00:00:00Z');
    const headers = { 'Retry-After': 'Thu, 01 Jan 2026 00:00:30 GMT' };
    const { client, waits } = await bridge([{ status: 503, headers }, OK]);
    await sendMessage(client, message);
    expect(waits()).toEqual([30_000]);
  });

  it('stops if the requested delay exceeds the limit', async () => {
    const { client, bodies, waits } = await bridge([{ status: 429, headers: { 'Retry-After': '3600' } }]);
    expect(await sendMessage(client, message)).toMatchObject({ ok: false, status: 429, attempts: 1 });
    expect([bodies.length, waits()]).toEqual([1, []]);
  });

  it('stops after the maximum number of attempts', async () => {
    const { client, bodies } = await bridge([{ status: 500 }], { attempts: 3 });
    expect(await sendMessage(client, message)).toMatchObject({
      ok: false,
      status: 500,
      code: 'HTTP_500',
      attempts: 3,
    });
    expect(bodies).toHaveLength(3);
  });

  it.each<[string, Step, string]>([
    ['400', { status: 400, body: { code: 'RECIPIENT_PHONE_INVALID' } }, 'E.164'],
    [
      '400 with a list of missing fields',
      { status: 400, body: { code: 'MISSING_REQUIRED_FIELDS', required: ['phone'] } },
      'Missing: phone.',
    ],
    ['401', { status: 401, body: { error: 'Invalid signature' } }, 'operator registered this key'],
    [
      '404',
      { status: 404, body: { code: 'LOCATION_NOT_CONNECTED' } },
      'when the Mac for this location is back online',
    ],
    ['a redirect', { status: 301, headers: { Location: 'https://elsewhere.example/' } }, 'does not know'],
    ['a response from another server', { status: 200, body: {} }, 'Check the URL'],
  ])('does not retry after %s and returns a hint', async (_, step, hint) => {
    const { client, bodies } = await bridge([step]);
    const sent = await sendMessage(client, message);
    expect(sent).toMatchObject({ ok: false, attempts: 1, message: expect.stringContaining(hint) as string });
    expect(bodies).toHaveLength(1);
  });

  it('retries after 404 only with retryNotConnected', async () => {
    const { client } = await bridge([{ status: 404, body: { code: 'LOCATION_NOT_CONNECTED' } }, OK]);
    expect(await sendMessage(client, message, { retryNotConnected: true })).toMatchObject({
      ok: true,
      attempts: 2,
    });
    const wrongPath = await bridge([{ status: 404, body: { code: 'NOT_FOUND' } }]);
    expect(await sendMessage(wrongPath.client, message, { retryNotConnected: true })).toMatchObject({
      ok: false,
      attempts: 1,
    });
  });

  it('puts the signature in the configured header', async () => {
    const { client, headers } = await bridge([OK], { header: 'X-Acme-Signature' });
    await sendMessage(client, message);
    expect(headers[0]?.['x-acme-signature']).toHaveLength(88);
    expect(headers[0]).not.toHaveProperty('x-crm-signature');
  });

  it('reports a timeout as UNREACHABLE', async () => {
    const { client } = await bridge(['hang'], { timeoutMs: 50, attempts: 1 });
    expect(await sendMessage(client, message)).toMatchObject({ ok: false, code: 'UNREACHABLE', attempts: 1 });
  });

  it('stops reading a response that no bridge sends', async () => {
    const { client } = await bridge([{ status: 200, body: { ...accepted, more: 'x'.repeat(2_000_000) } }]);
    expect(await sendMessage(client, message)).toMatchObject({ ok: false, code: 'UNEXPECTED_ANSWER' });
  });

  it('rejects when the signal aborts, during an attempt and between two', async () => {
    const { client } = await bridge(['hang'], { attempts: 1 });
    const stopped = sendMessage(client, message, { signal: AbortSignal.timeout(30) });
    await expect(stopped).rejects.toMatchObject({ name: 'TimeoutError' });

    const patient = await bridge([{ status: 503, headers: { 'Retry-After': '30' } }]);
    const { sleep: _, ...settings } = patient.client.settings;
    const waiting = sendMessage(new BridgeClient({ ...settings, privateKey }), message, {
      signal: AbortSignal.timeout(100),
    });
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('throws for an unusable key without sending', async () => {
    const { client, bodies } = await bridge([OK], { privateKey: publicKey });
    await expect(sendMessage(client, message)).rejects.toThrow('a private key is required');
    expect(bodies).toEqual([]);
  });

  it('limits reactions, stickers and attachments to 50 per minute, but not plain text', async () => {
    stopDate('2026-01-01T00:00:00Z');
    const { client, waits } = await bridge([OK]);
    const love = {
      ...message,
      message: makeReaction({ chatId: 7, target: 'g', kind: 'classic', type: 'love' }),
    };
    for (let index = 0; index < 50; index += 1) await sendMessage(client, love);
    expect(waits()).toEqual([]);
    await sendMessage(client, message);
    expect(waits()).toEqual([]);
    await sendMessage(client, { ...message, attachments: ['https://files.example/a.png'] });
    expect(waits()).toEqual([60_000]);
  });
});

describe('sendMessage does not send', () => {
  const { message: _, ...noText } = message;
  it.each<[string, object, string, string]>([
    [
      'a message without a location',
      { ...message, locationId: ' ' },
      'MISSING_REQUIRED_FIELDS',
      'locationId',
    ],
    [
      'a message whose contactId is a number',
      { ...message, contactId: 7 },
      'MISSING_REQUIRED_FIELDS',
      'contactId',
    ],
    [
      'a message with neither text nor attachments',
      noText,
      'MISSING_REQUIRED_FIELDS',
      'message or attachments',
    ],
    [
      'a message with an empty array of attachments',
      { ...noText, attachments: [] },
      'MISSING_REQUIRED_FIELDS',
      'message or attachments',
    ],
    [
      'a message whose text is an object',
      { ...message, message: { text: 'Hi' } },
      'MISSING_REQUIRED_FIELDS',
      'must be a string',
    ],
    ['a message with a blank phone', { ...message, phone: '' }, 'MISSING_REQUIRED_FIELDS', 'looked up'],
    [
      'a message with a removed alias',
      { ...message, to: '+15555550100' },
      'MISSING_REQUIRED_FIELDS',
      'use phone',
    ],
    [
      'a message with a file URL',
      { ...message, attachments: ['file:///etc/passwd'] },
      'INVALID_ATTACHMENTS',
      'attachments[0]',
    ],
    [
      'a message with too many attachments',
      { ...message, attachments: Array<string>(21).fill('https://a.example/') },
      'INVALID_ATTACHMENTS',
      '20',
    ],
    [
      'a message whose attachments are a string',
      { ...message, attachments: 'https://a.example/' },
      'INVALID_ATTACHMENTS',
      'array',
    ],
    [
      'a message of 20,001 code units',
      { ...message, message: 'x'.repeat(20_001) },
      'MESSAGE_BODY_TOO_LONG',
      '20001',
    ],
    ['a message of another type', { ...message, type: 'Email' }, 'UNSUPPORTED_MESSAGE_TYPE', 'SMS'],
    [
      'a messageId that is not valid in a URL',
      { ...message, messageId: '..' },
      'INVALID_REQUEST',
      'messageId',
    ],
    [
      'an unreadable footer',
      { ...message, message: 'Hi\n-- svc-metadata:v1 --\n{' },
      'INVALID_FRAME',
      'never closed',
    ],
    [
      'a reaction without a chat',
      {
        ...message,
        message: makeFooter({ reaction: { kind: 'classic', action: 'add', target_message_guid: 'g' } }),
      },
      'INVALID_FRAME',
      'chat_id',
    ],
    [
      'a sticker without an image',
      { ...message, message: makeFooter({ chat_id: 7, sticker: { name: 'cat' } }) },
      'INVALID_KIND_FIELD_COMBO',
      'bytes',
    ],
    ['an array', [], 'MISSING_REQUIRED_FIELDS', 'an object'],
  ])('%s', async (_name, body, code, hint) => {
    const { client, bodies } = await bridge([OK]);
    const sent = await sendMessage(client, JSON.parse(JSON.stringify(body)) as OutboundMessage);
    expect(sent).toMatchObject({
      ok: false,
      code,
      attempts: 0,
      message: expect.stringContaining(hint) as string,
    });
    expect(bodies).toEqual([]);
  });

  it('a message with several faults, and lists them all', async () => {
    const { client } = await bridge([OK]);
    const sent = await sendMessage(client, JSON.parse('{"text":"Hi","type":"Email"}') as OutboundMessage);
    const fields = sent.ok ? [] : sent.faults?.map(({ field }) => field);
    expect(fields).toEqual(['text', 'locationId', 'contactId', 'message', 'type']);
  });
});
