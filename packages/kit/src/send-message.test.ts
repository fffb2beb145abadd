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

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

/** From here to the end of the test it is that time; timers go on. */
function stopDate(now: string): void {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(now) });
  undo.push(() => vi.useRealTimers());
}

type Step = 'hang up' | 'hang' | { status: number; headers?: Record<string, string>; body?: unknown };

/** A bridge that answers as told, the last step for ever, and keeps what it got. */
async function bridge(steps: readonly Step[], options: Partial<ClientOptions> = {}) {
  const bodies: string[] = [];
  const signatures: boolean[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const waits: number[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
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
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  undo.push(() => {
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

describe('sending', () => {
  it('a message that is taken', async () => {
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

  it('an answer without a message id is fine', async () => {
    const { client } = await bridge([{ status: 200, body: { ...accepted, messageId: null } }]);
    expect(await sendMessage(client, message)).toMatchObject({ ok: true, messageId: null });
  });

  it.each<[string, Step]>([
    ['429', { status: 429, body: { error: 'TOO_MANY_REQUESTS', code: 'TOO_MANY_REQUESTS' } }],
    ['500', { status: 500, body: { code: 'INTERNAL_ERROR' } }],
    ['503 of a proxy', { status: 503 }],
    ['no answer', 'hang up'],
  ])('%s is tried again with the same bytes', async (_, step) => {
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
  ])('%s is honoured', async (_, headers, expected) => {
    const { client, waits } = await bridge([{ status: 429, headers }, OK]);
    expect(await sendMessage(client, message)).toMatchObject({ ok: true, attempts: 2 });
    expect(waits()[0]).toBe(expected);
  });

  it('Retry-After as a date is honoured', async () => {
    stopDate('2026-01-01T00:00:00Z');
    const headers = { 'Retry-After': 'Thu, 01 Jan 2026 00:00:30 GMT' };
    const { client, waits } = await bridge([{ status: 503, headers }, OK]);
    await sendMessage(client, message);
    expect(waits()).toEqual([30_000]);
  });

  it('a wait longer than the limit is left to the caller', async () => {
    const { client, bodies, waits } = await bridge([{ status: 429, headers: { 'Retry-After': '3600' } }]);
    expect(await sendMessage(client, message)).toMatchObject({ ok: false, status: 429, attempts: 1 });
    expect([bodies.length, waits()]).toEqual([1, []]);
  });

  it('the tries come to an end', async () => {
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
      '400 with the names of what is missing',
      { status: 400, body: { code: 'MISSING_REQUIRED_FIELDS', required: ['phone'] } },
      'Missing: phone.',
    ],
    ['401', { status: 401, body: { error: 'Invalid signature' } }, 'registered with the operator'],
    [
      '404',
      { status: 404, body: { code: 'LOCATION_NOT_CONNECTED' } },
      'when the Mac of this location is back',
    ],
    [
      'a redirect',
      { status: 301, headers: { Location: 'https://elsewhere.example/' } },
      'unknown to this kit',
    ],
    ['a page that is no bridge', { status: 200, body: {} }, 'address of the webhook'],
  ])('%s is not tried again, and the answer says what to do', async (_, step, hint) => {
    const { client, bodies } = await bridge([step]);
    const sent = await sendMessage(client, message);
    expect(sent).toMatchObject({ ok: false, attempts: 1, message: expect.stringContaining(hint) as string });
    expect(bodies).toHaveLength(1);
  });

  it('404 is tried again only when asked to', async () => {
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

  it('the signature goes under the header that the operator registered', async () => {
    const { client, headers } = await bridge([OK], { header: 'X-Acme-Signature' });
    await sendMessage(client, message);
    expect(headers[0]?.['x-acme-signature']).toHaveLength(88);
    expect(headers[0]).not.toHaveProperty('x-crm-signature');
  });

  it('an answer that does not come in time is a missing answer', async () => {
    const { client } = await bridge(['hang'], { timeoutMs: 50, attempts: 1 });
    expect(await sendMessage(client, message)).toMatchObject({ ok: false, code: 'UNREACHABLE', attempts: 1 });
  });

  it('the caller can stop it, in a try and between two', async () => {
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

  it('a key that cannot be used is thrown, not sent', async () => {
    const { client, bodies } = await bridge([OK], { privateKey: publicKey });
    await expect(sendMessage(client, message)).rejects.toThrow('a private key is needed');
    expect(bodies).toEqual([]);
  });

  it('reactions, stickers and attachments keep to 50 in a minute, plain text does not wait', async () => {
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

describe('messages that are refused before they are sent', () => {
  const { message: _, ...noText } = message;
  it.each<[string, object, string, string]>([
    ['no location', { ...message, locationId: ' ' }, 'MISSING_REQUIRED_FIELDS', 'locationId'],
    ['a contact that is a number', { ...message, contactId: 7 }, 'MISSING_REQUIRED_FIELDS', 'contactId'],
    ['neither text nor attachments', noText, 'MISSING_REQUIRED_FIELDS', 'message or attachments'],
    [
      'an empty list of attachments',
      { ...noText, attachments: [] },
      'MISSING_REQUIRED_FIELDS',
      'message or attachments',
    ],
    [
      'a text in an object',
      { ...message, message: { text: 'Hi' } },
      'MISSING_REQUIRED_FIELDS',
      'must be a string',
    ],
    ['a blank phone', { ...message, phone: '' }, 'MISSING_REQUIRED_FIELDS', 'looked up'],
    ['an alias', { ...message, to: '+15555550100' }, 'MISSING_REQUIRED_FIELDS', 'use phone'],
    [
      'a file of this machine',
      { ...message, attachments: ['file:///etc/passwd'] },
      'INVALID_ATTACHMENTS',
      'attachments[0]',
    ],
    [
      'too many attachments',
      { ...message, attachments: Array<string>(21).fill('https://a.example/') },
      'INVALID_ATTACHMENTS',
      '20',
    ],
    [
      'attachments in one string',
      { ...message, attachments: 'https://a.example/' },
      'INVALID_ATTACHMENTS',
      'array',
    ],
    ['20,001 units', { ...message, message: 'x'.repeat(20_001) }, 'MESSAGE_BODY_TOO_LONG', '20001'],
    ['another type', { ...message, type: 'Email' }, 'UNSUPPORTED_MESSAGE_TYPE', 'SMS'],
    ['a messageId that no URL can carry', { ...message, messageId: '..' }, 'INVALID_REQUEST', 'messageId'],
    [
      'a footer that cannot be read',
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
    ['no object', [], 'MISSING_REQUIRED_FIELDS', 'an object'],
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

  it('all faults are told at once', async () => {
    const { client } = await bridge([OK]);
    const sent = await sendMessage(client, JSON.parse('{"text":"Hi","type":"Email"}') as OutboundMessage);
    const fields = sent.ok ? [] : sent.faults?.map(({ field }) => field);
    expect(fields).toEqual(['text', 'locationId', 'contactId', 'message', 'type']);
  });
});
