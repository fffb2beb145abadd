import { FakeClock } from '@footbridge/testkit/fake-clock';
import { describe, expect, it } from 'vitest';

import { succeeded } from '../../platform/retry/retry.ts';
import { createConversationCalls } from './conversation-calls.ts';
import { createCrmClient } from '../crm/crm-client.ts';
import type { HttpRequest } from '../crm/transport-http.ts';

const clock = new FakeClock(Date.UTC(2026, 0, 1, 12));

/** The calls on a CRM that always responds with `body`. */
function setUp(body: unknown, headers: Record<string, string> = {}) {
  const requests: HttpRequest[] = [];
  const client = createCrmClient({
    apiVersion: '2021-07-28',
    transport: {
      async send(request) {
        requests.push(request);
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        return { status: 200, headers: new Map(Object.entries(headers)), text };
      },
      async close() {},
    },
    host: 'https://crm.example',
    tokens: {
      value: {
        bearer: async () => ({ authorization: 'Bearer token' }),
        renew: async () => ({ authorization: 'Bearer token' }),
      },
    },
    clock,
  });
  return { calls: createConversationCalls(client), requests };
}

const UNUSABLE = { ok: false, kind: 'empty', retryable: true, status: 200 };
const conversation = (more: object = {}) => ({ id: 'v1', contactId: 'c1', locationId: 'loc', ...more });
const message = (more: object = {}) => ({
  id: 'm1',
  locationId: 'loc',
  conversationId: 'v1',
  dateAdded: '2026-01-01T12:00:00.000Z',
  direction: 'inbound',
  body: 'hello',
  ...more,
});

describe('the conversation of a contact', () => {
  const find = (body: unknown) => setUp(body).calls.find('loc', 'c1', {});

  it('I9 a conversation is searched by location and contact', async () => {
    const { calls, requests } = setUp({ conversations: [conversation()], total: 1 });
    expect(await calls.find('loc', 'c&1', {})).toMatchObject(UNUSABLE);
    expect(await calls.find('loc', 'c1', {})).toEqual(succeeded(['v1']));
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /conversations/search?locationId=loc&contactId=c%261',
      'GET /conversations/search?locationId=loc&contactId=c1',
    ]);
  });

  it('I9 a conversation may be one of several', async () => {
    const all = [conversation(), conversation({ id: 'v2' })];
    expect(await find({ conversations: all, total: 2 })).toEqual(succeeded(['v1', 'v2']));
  });

  it('I9 a conversation is absent only when the CRM returns an empty list', async () => {
    expect(await find({ conversations: [], total: 0 })).toEqual(succeeded([]));
  });

  it.each([
    '',
    'null',
    '[]',
    '<html>',
    '{"conversations":[{}]}',
    {},
    { conversations: null },
    { conversations: ['v1'] },
    { conversations: [conversation({ locationId: 'other' })] },
    { conversations: [conversation(), conversation({ contactId: 'other' })] },
  ])('I9 a conversation is not read from %j', async (body) => {
    expect(await find(body)).toMatchObject(UNUSABLE);
  });
});

describe('the messages of a conversation', () => {
  const read = (body: unknown, headers?: Record<string, string>) =>
    setUp(body, headers).calls.messages('loc', 'v1', undefined, {});

  it('I9 messages are read in pages of twenty', async () => {
    const { calls, requests } = setUp({ messages: { messages: [], nextPage: false, lastMessageId: '' } });
    await calls.messages('loc', 'v/1', undefined, {});
    await calls.messages('loc', 'v1', 'm 9', {});
    expect(requests.map(({ path }) => path)).toEqual([
      '/conversations/v%2F1/messages?limit=20',
      '/conversations/v1/messages?limit=20&lastMessageId=m+9',
    ]);
  });

  it.each([
    ['as documented', { messages: [message()], nextPage: true }],
    ['as HighLevel returns them', { messages: { messages: [message()], nextPage: true } }],
  ])('I9 messages are read %s', async (_name, body) => {
    expect(await read(body, { date: 'Thu, 01 Jan 2026 12:00:00 GMT' })).toEqual(
      succeeded({
        messages: [{ id: 'm1', isInbound: true, text: 'hello', attachments: [], addedAt: clock.now() }],
        hasMore: true,
      }),
    );
  });

  it('I9 messages are dated by our clock; without a Date header the clock of the CRM may be a day behind', async () => {
    const dated = (dateAdded: string, date?: string) =>
      read({ messages: [message({ dateAdded })] }, date === undefined ? {} : { date });
    for (const [dateAdded, date] of [
      ['2025-12-31T12:00:00.000Z', undefined],
      ['2025-12-31T12:00:00.000Z', 'no date'],
      ['2026-01-01T13:00:00.000Z', 'Thu, 01 Jan 2026 13:00:00 GMT'],
      ['2025-12-31T12:00:00.000Z', 'Wed, 31 Dec 2025 12:00:00 GMT'],
    ] as const)
      expect(await dated(dateAdded, date)).toMatchObject({ value: { messages: [{ addedAt: clock.now() }] } });
  });

  it('I9 need neither text nor attachments, as calls and emails have none', async () => {
    const { body: _body, ...call } = message({ direction: 'outbound' });
    expect(await read({ messages: [call] })).toMatchObject({
      value: { messages: [{ isInbound: false, text: '', attachments: [] }], hasMore: false },
    });
  });

  it.each([
    '',
    '{}',
    '[]',
    { messages: {} },
    { messages: { messages: 'none' } },
    { messages: [message(), null] },
    { messages: [message({ id: '' })] },
    { messages: [message({ dateAdded: 'yesterday' })] },
    { messages: [message({ locationId: 'other' })] },
    { messages: [message({ conversationId: 'other' })] },
  ])('I9 messages are not read from %j', async (body) => {
    expect(await read(body)).toMatchObject(UNUSABLE);
  });
});
