import { verify } from 'node:crypto';
import { createServer } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startCrm } from '../crm.ts';
import type { Crm } from '../crm.ts';
import { fixedRsaKey } from '../keys.ts';
import { closeHttp, listen } from '../loopback.ts';
import { freePort } from '../ports.ts';
import { createCleanup } from '../cleanup.ts';

interface Arrived {
  path: string | undefined;
  headers: Record<string, unknown>;
  body: Buffer;
}

const cleanup = createCleanup();
let crm: Crm;
let arrived: Arrived[] = [];
let answers: number[] = [];

beforeEach(async () => {
  arrived = [];
  answers = [];
  const bridge = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      arrived.push({ path: request.url, headers: request.headers, body: Buffer.concat(parts) });
      response
        .writeHead(answers.shift() ?? 200, { 'Content-Type': 'application/json' })
        .end('{"status":"success"}');
    });
  });
  cleanup.add(() => closeHttp(bridge));
  crm = await startCrm({ bridgeUrl: `http://127.0.0.1:${await listen(bridge)}` });
  cleanup.add(() => crm.stop());
});
afterEach(() => cleanup.run());

it('signs exactly the bytes it sends and records the response', async () => {
  const sent = await crm.sendWebhook({ locationId: 'LocA', phone: '+15550001111', message: 'héllo' });
  const [{ body, headers, path } = { body: Buffer.alloc(0), headers: {}, path: '' }] = arrived;
  expect(path).toBe('/crm/webhook');
  expect(
    verify(null, body, crm.key.publicKey, Buffer.from(String(headers['x-crm-signature']), 'base64')),
  ).toBe(true);
  expect(JSON.parse(body.toString())).toMatchObject({
    locationId: 'LocA',
    type: 'SMS',
    message: 'héllo',
    messageId: sent.messageId,
    contactId: expect.stringMatching(/^[A-Za-z0-9]{20}$/),
  });
  expect(sent).toMatchObject({ status: 200, answer: { status: 'success' } });
  expect(crm.webhooks).toEqual([sent]);
});

it('creates the message, so that the CRM accepts its status', async () => {
  crm.settings.strictMessages = true;
  const { messageId = '' } = await crm.sendWebhook({ locationId: 'LocA' });
  const answer = await fetch(`${crm.url}/conversations/messages/${messageId}/status`, {
    method: 'PUT',
    headers: {
      Authorization: `Bearer ${crm.token('LocA').access_token}`,
      Version: '2021-07-28',
      'Content-Type': 'application/json',
    },
    body: '{"status":"pending"}',
  });
  expect(answer.status).toBe(200);
});

it('keeps the message when its webhook is sent again', async () => {
  const messageId = crm.newMessage('LocA');
  const conversationOf = async () => {
    const answer = await fetch(`${crm.url}/conversations/messages/${messageId}`, {
      headers: { Authorization: `Bearer ${crm.token('LocA').access_token}`, Version: '2021-04-15' },
    });
    return ((await answer.json()) as { conversationId?: string }).conversationId;
  };
  const before = await conversationOf();
  await crm.sendWebhook({ locationId: 'LocA', messageId });
  expect(before).toBeDefined();
  expect(await conversationOf()).toBe(before);
});

it('can send raw bytes, to another path and with another key', async () => {
  const key = fixedRsaKey();
  await crm.sendWebhook({ locationId: 'LocA' }, { raw: '{ "odd" :1}', path: '/crm/webhook/sms', key });
  expect(arrived[0]?.path).toBe('/crm/webhook/sms');
  expect(arrived[0]?.body.toString()).toBe('{ "odd" :1}');
  const signature = Buffer.from(String(arrived[0]?.headers['x-wh-signature']), 'base64');
  expect(verify('sha256', Buffer.from('{ "odd" :1}'), key.publicKey, signature)).toBe(true);
});

it('retries a rejected message with the same bytes, like HighLevel', async () => {
  answers = [404, 500, 200];
  const sent = await crm.sendWebhook({ locationId: 'LocA' }, { retries: 12, retryDelayMs: 1 });
  expect(sent.status).toBe(200);
  expect(crm.webhooks.map(({ status }) => status)).toEqual([404, 500, 200]);
  expect(new Set(arrived.map(({ body }) => body.toString())).size).toBe(1);
});

it('reports a bridge that does not respond', async () => {
  const sent = await crm.sendWebhook({ locationId: 'LocA' }, { url: `http://127.0.0.1:${await freePort()}` });
  expect(sent.status).toBeUndefined();
  expect(sent.error).toContain('ECONNREFUSED');
});

it('throws without a bridge URL', async () => {
  crm.bridgeUrl = undefined;
  await expect(crm.sendWebhook({ locationId: 'LocA' })).rejects.toThrow('set bridgeUrl');
});
