import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCrm } from '../crm.ts';
import type { Contact, Crm, Route } from '../crm.ts';
import { requestProblems, responseProblems } from '../openapi.ts';
import { createCleanup } from '../cleanup.ts';
import { request, tokenForm } from './test-client.ts';
import type { ResponseData } from './test-client.ts';

const cleanup = createCleanup();
let crm: Crm;
let token = '';
let contact: Contact;
let clock = 0;

beforeEach(async () => {
  clock = Date.now();
  crm = await startCrm({ now: () => clock, settings: { rateLimit: null } });
  cleanup.add(() => crm.stop());
  token = crm.token('LocA').access_token;
  contact = crm.addContact({ locationId: 'LocA', phone: '+15550001111' });
});
afterEach(() => cleanup.run());

const get = (path: string, as = token) => request(crm, `GET ${path}`, { token: as });
const search = (as = token) => get(`/conversations/search?locationId=LocA&contactId=${contact.id}`, as);
const store = (message: string, more: object = {}) =>
  request(crm, 'POST /conversations/messages/inbound', {
    token,
    body: { type: 'SMS', contactId: contact.id, message, ...more },
  });

async function conversationId(): Promise<string> {
  const [found] = (await search()).body['conversations'] as { id: string }[];
  return found?.id ?? '';
}

/** The bodies on one page, and whether there is another page. */
function page({ body }: ResponseData) {
  const { messages, ...more } = body['messages'] as { messages: { body: string }[]; nextPage: boolean };
  return { ...more, texts: messages.map((message) => message.body) };
}

function documented(route: Route, { status, body }: ResponseData): void {
  expect(responseProblems(route, status, body)).toEqual([]);
  expect(crm.calls.flatMap(requestProblems)).toEqual([]);
}

describe('the search for conversations', () => {
  it('finds the conversation of a contact once it has a message', async () => {
    expect((await search()).body).toMatchObject({ conversations: [], total: 0 });
    const stored = await store('hello');
    const found = await search();
    documented('conversations', found);
    expect(found.body).toMatchObject({
      conversations: [{ id: stored.body['conversationId'], contactId: contact.id, locationId: 'LocA' }],
      total: 1,
    });
  });

  it('is rejected for another location', async () => {
    expect((await get('/conversations/search?locationId=LocB')).status).toBe(403);
    expect((await get('/conversations/search')).status).toBe(422);
  });
});

describe('the messages of a conversation', () => {
  it('are listed newest first, in pages', async () => {
    for (const text of ['one', 'two', 'three', 'four', 'five']) await store(text);
    const path = `/conversations/${await conversationId()}/messages`;
    const first = await get(`${path}?limit=2`);
    documented('messages', first);
    expect(page(first)).toMatchObject({ texts: ['five', 'four'], nextPage: true });
    const { lastMessageId } = first.body['messages'] as { lastMessageId: string };
    const second = await get(`${path}?limit=3&lastMessageId=${lastMessageId}`);
    expect(page(second)).toMatchObject({ texts: ['three', 'two', 'one'], nextPage: false });
    expect(page(await get(path)).texts).toHaveLength(5);
  });

  it('have direction, attachments and time', async () => {
    await store('hello', { attachments: ['https://x.test/a.png'] });
    await store('sent by hand', { direction: 'outbound' });
    const { messages } = (await get(`/conversations/${await conversationId()}/messages`)).body[
      'messages'
    ] as { messages: object[] };
    expect(messages).toMatchObject([
      { direction: 'outbound', attachments: [] },
      {
        direction: 'inbound',
        attachments: ['https://x.test/a.png'],
        dateAdded: new Date(clock).toISOString(),
      },
    ]);
  });

  it('belong to one location', async () => {
    await store('hello');
    const path = `/conversations/${await conversationId()}/messages`;
    expect((await get(path, crm.token('LocB').access_token)).status).toBe(403);
    expect((await get('/conversations/unknown/messages')).status).toBe(400);
  });
});

describe('a sent message', () => {
  it('has the last accepted status once reads show it', async () => {
    const id = crm.newMessage('LocA');
    const read = () => get(`/conversations/messages/${id}`);
    const unreported = await read();
    documented('message', unreported);
    expect(unreported.body).toMatchObject({ id, locationId: 'LocA', direction: 'outbound' });
    expect(unreported.body).not.toHaveProperty('status');
    const tell = (status: string) =>
      request(crm, `PUT /conversations/messages/${id}/status`, { token, body: { status } });
    await tell('pending');
    clock += 3000;
    crm.settings.readLagMs = 3000;
    await tell('delivered');
    expect((await read()).body).toMatchObject({ status: 'pending' });
    clock += 3000;
    const reported = await read();
    documented('message', reported);
    expect(reported.body).toMatchObject({ status: 'delivered' });
  });

  it('is not found while it is too new or unknown, and belongs to one location', async () => {
    crm.settings.strictMessages = true;
    const id = crm.newMessage('LocA');
    expect((await get('/conversations/messages/unknown')).status).toBe(400);
    expect((await get(`/conversations/messages/${id}`, crm.token('LocB').access_token)).status).toBe(403);
    crm.settings.readLagMs = 3000;
    expect((await get(`/conversations/messages/${id}`)).status).toBe(400);
  });
});

describe('reads', () => {
  it('lag behind writes, as the search for contacts does', async () => {
    crm.settings.readLagMs = 3000;
    await store('hello');
    expect((await search()).body).toMatchObject({ conversations: [] });
    const duplicate = '/contacts/search/duplicate?locationId=LocA&number=%2B15550001111';
    expect((await get(duplicate)).body).toMatchObject({ contact: null });
    clock += 3000;
    const path = `/conversations/${await conversationId()}/messages`;
    await store('too new');
    expect(page(await get(path)).texts).toEqual(['hello']);
    expect((await get(duplicate)).body).toMatchObject({ contact: { id: contact.id } });
  });

  it.each([
    ['conversations.readonly', 401, 200],
    ['conversations/message.readonly', 200, 401],
  ])('without the scope %s are rejected', async (missing, searched, read) => {
    await store('hello');
    const id = await conversationId();
    const scopes = ['conversations.readonly', 'conversations/message.readonly'];
    const code = crm.install({ locationId: 'LocA', scopes: scopes.filter((scope) => scope !== missing) });
    const form = tokenForm(crm, { grant_type: 'authorization_code', code });
    const limited = String((await request(crm, 'POST /oauth/token', { form })).body['access_token']);
    expect((await search(limited)).status).toBe(searched);
    expect((await get(`/conversations/${id}/messages`, limited)).status).toBe(read);
  });

  it('and responses are dated by a clock that may be ahead', async () => {
    crm.settings.clockAheadMs = 3_600_000;
    await store('hello');
    const { body, headers } = await get(`/conversations/${await conversationId()}/messages`);
    const ahead = clock + 3_600_000;
    expect(Date.parse(headers.get('date') ?? '')).toBe(Math.floor(ahead / 1000) * 1000);
    expect(body).toMatchObject({ messages: { messages: [{ dateAdded: new Date(ahead).toISOString() }] } });
  });

  it('may have no Date header', async () => {
    crm.settings.sendsDate = false;
    expect((await search()).headers.has('date')).toBe(false);
  });

  it('show the text as the CRM stored it', async () => {
    for (const storesText of [
      'unchanged',
      'trimmed',
      'lines trimmed',
      'with LF for CRLF',
      'in NFC',
    ] as const) {
      crm.settings.storesText = storesText;
      await store(' e\u0301 \r\nx ');
    }
    const { texts } = page(await get(`/conversations/${await conversationId()}/messages`));
    expect(texts.toReversed()).toEqual([
      ' e\u0301 \r\nx ',
      'e\u0301 \r\nx',
      ' e\u0301\r\nx',
      ' e\u0301 \nx ',
      ' \u00E9 \r\nx ',
    ]);
  });

  it('are undocumented with other query parameters', async () => {
    await get('/conversations/search?locationId=LocA&contact=x');
    expect(crm.calls.flatMap(requestProblems)).toEqual([
      'request of conversations: query has an undocumented contact',
    ]);
  });
});
