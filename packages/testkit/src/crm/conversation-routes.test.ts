import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCrm } from '../crm.ts';
import type { Contact, Crm } from '../crm.ts';
import { responseProblems, requestProblems } from '../openapi.ts';
import { createCleanup } from '../cleanup.ts';
import { request } from './test-client.ts';
import type { RequestOptions } from './test-client.ts';

const cleanup = createCleanup();
let crm: Crm;
let token = '';
let contact: Contact;
let clock = 0;

beforeEach(async () => {
  clock = Date.now();
  crm = await startCrm({ now: () => clock });
  cleanup.add(() => crm.stop());
  token = crm.token('LocA').access_token;
  contact = crm.addContact({ locationId: 'LocA', phone: '+15550001111' });
});
afterEach(() => cleanup.run());

const inbound = (body: object, more: RequestOptions = {}) =>
  request(crm, 'POST /conversations/messages/inbound', { token, body, ...more });
const status = (messageId: string, body: object, more: RequestOptions = {}) =>
  request(crm, `PUT /conversations/messages/${encodeURIComponent(messageId)}/status`, {
    token,
    body,
    ...more,
  });

describe('an inbound message', () => {
  it('is stored and gets 201 with its ids', async () => {
    const body = {
      type: 'SMS',
      contactId: contact.id,
      locationId: 'LocA',
      message: 'hello',
      attachments: ['https://x.test/a.png'],
    };
    const answer = await inbound(body, { headers: { 'Idempotency-Key': 'k1' } });
    expect(answer.status).toBe(201);
    expect(responseProblems('inbound', answer.status, answer.body)).toEqual([]);
    expect(crm.calls.flatMap(requestProblems)).toEqual([]);
    const [stored] = crm.messages;
    expect(stored).toMatchObject({ ...body, direction: 'inbound', idempotencyKey: 'k1' });
    expect(answer.body).toMatchObject({
      messageId: stored?.messageId,
      conversationId: stored?.conversationId,
    });
    const next = await inbound({ ...body, direction: 'outbound' });
    expect(next.body['conversationId']).toBe(stored?.conversationId);
    expect(crm.messages[1]?.direction).toBe('outbound');
  });

  it('is rejected without a contact of the location', async () => {
    const elsewhere = crm.addContact({ locationId: 'LocB' });
    expect((await inbound({ type: 'SMS', message: 'x' })).status).toBe(400);
    expect((await inbound({ type: 'SMS', message: 'x', contactId: 'missing' })).status).toBe(400);
    expect((await inbound({ type: 'SMS', message: 'x', contactId: elsewhere.id })).status).toBe(403);
    expect(
      (await inbound({ type: 'SMS', message: 'x', contactId: contact.id, locationId: 'LocB' })).status,
    ).toBe(403);
    expect((await inbound({ type: 'Fax', message: 'x', contactId: contact.id })).status).toBe(422);
    expect((await inbound({ type: 'SMS', contactId: contact.id })).status).toBe(400);
    expect(crm.messages).toHaveLength(0);
  });

  it('can have a conversation instead of a contact', async () => {
    const first = await inbound({ type: 'SMS', message: 'x', contactId: contact.id });
    await inbound({ type: 'SMS', message: 'y', conversationId: first.body['conversationId'] });
    expect(crm.messages[1]).toMatchObject({ contactId: contact.id, message: 'y' });
  });

  it('is stored once if the idempotency key is honoured, otherwise twice', async () => {
    const body = { type: 'SMS', message: 'x', contactId: contact.id };
    const headers = { 'Idempotency-Key': 'same' };
    await inbound(body, { headers });
    await inbound(body, { headers });
    expect(crm.messages).toHaveLength(2);
    crm.settings.honourIdempotencyKey = true;
    const answers = await Promise.all([inbound(body, { headers }), inbound(body, { headers })]);
    expect(crm.messages).toHaveLength(3);
    expect(answers[0]?.body['messageId']).toBe(answers[1]?.body['messageId']);
    await inbound(body, { headers: { 'Idempotency-Key': 'other' } });
    expect(crm.messages).toHaveLength(4);
  });

  it.each([
    { given: { type: 'SMS' }, status: 400, message: 'No conversationProviderId passed in body' },
    {
      given: { type: 'SMS', conversationProviderId: 'p1' },
      status: 400,
      message: 'Incorrect conversationProviderId/type',
    },
    {
      given: { type: 'Custom', conversationProviderId: 'p2' },
      status: 400,
      message: 'Invalid conversationProviderId',
    },
    { given: { type: 'Custom' }, status: 201, message: undefined },
    {
      given: { type: 'Custom', conversationProviderId: 'p1' },
      status: 201,
      message: 'Message added successfully',
    },
  ])('on an added channel: $given gets $status', async ({ given, status: expected, message }) => {
    crm.settings.provider = { kind: 'custom', id: 'p1' };
    const answer = await inbound({ ...given, message: 'x', contactId: contact.id });
    expect(answer.status).toBe(expected);
    expect(answer.body['message']).toBe(message);
    expect(crm.messages).toHaveLength(message === 'Message added successfully' ? 1 : 0);
  });

  it('with a provider id is rejected for a private integration token', async () => {
    crm.settings.provider = { kind: 'custom', id: 'p1' };
    const body = { type: 'Custom', conversationProviderId: 'p1', message: 'x', contactId: contact.id };
    const answer = await inbound(body, { token: crm.pit('LocA') });
    expect(answer.body['message']).toBe("You don't have access to the conversationProvider with id: p1");
  });
});

describe('a status call', () => {
  it('is accepted with the documented response', async () => {
    const id = crm.newMessage('LocA');
    const first = await status(id, { status: 'pending' });
    expect(first.status).toBe(200);
    expect(responseProblems('status', first.status, first.body)).toEqual([]);
    await status(id, { status: 'failed', error: { code: '1', type: 'error', message: 'no' } });
    expect(crm.calls.flatMap(requestProblems)).toEqual([]);
    expect(crm.accepted(id)).toEqual(['pending', 'failed']);
    expect(crm.statusesOf(id)[1]).toMatchObject({ error: { code: '1' }, accepted: true, locationId: 'LocA' });
  });

  it('is recorded with the GUID of the message, if it has one', async () => {
    const id = crm.newMessage('LocA');
    await status(id, { status: 'pending' });
    await status(id, { status: 'delivered', messageGuid: 'g-1' });
    expect(crm.statusesOf(id).map(({ messageGuid }) => messageGuid)).toEqual([undefined, 'g-1']);
  });

  it('is rejected for a while after the message was created', async () => {
    crm.settings.statusWindowMs = 5_000;
    const id = crm.newMessage('LocA');
    const early = await status(id, { status: 'pending' });
    expect(early.status).toBe(403);
    expect(early.body).toMatchObject({ message: 'No conversation provider found for this message' });
    clock += 5_000;
    expect((await status(id, { status: 'pending' })).status).toBe(200);
    expect(crm.statusesOf(id).map(({ accepted }) => accepted)).toEqual([false, true]);
  });

  it('creates an unknown message, unless messages are strict', async () => {
    crm.settings.statusWindowMs = 1_000;
    expect((await status('a/b c', { status: 'pending' })).status).toBe(403);
    clock += 1_000;
    expect((await status('a/b c', { status: 'pending' })).status).toBe(200);
    expect(crm.accepted('a/b c')).toEqual(['pending']);
    crm.settings.strictMessages = true;
    const unknown = await status('never-sent', { status: 'pending' });
    expect(unknown.status).toBe(401);
    expect(unknown.body).toMatchObject({ message: 'No message found for the id' });
  });

  it('requires an app token of the same location', async () => {
    const id = crm.newMessage('LocA');
    expect((await status(id, { status: 'pending' }, { token: crm.pit('LocA') })).status).toBe(401);
    expect((await status(id, { status: 'pending' }, { token: crm.token('LocB').access_token })).status).toBe(
      403,
    );
    expect(crm.accepted(id)).toEqual([]);
  });

  it.each([{}, { status: 'sent' }, { status: 'failed', error: { code: 1, type: 'error', message: 'x' } }])(
    '%j is unprocessable',
    async (body) => {
      const answer = await status('m1', body);
      expect(answer.status).toBe(422);
      expect(crm.calls.flatMap(requestProblems)).not.toEqual([]);
    },
  );
});

describe('an upload', () => {
  const upload = (files: File[], fields: Record<string, string> = {}) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ locationId: 'LocA', contactId: contact.id, ...fields })) {
      form.append(name, value);
    }
    for (const file of files) form.append('fileAttachment', file);
    return request(crm, 'POST /conversations/messages/upload', { token, form });
  };

  it('gets one URL per file', async () => {
    const answer = await upload([
      new File(['abc'], 'a.png', { type: 'image/png' }),
      new File(['d'], 'b.m4a'),
    ]);
    expect(answer.status).toBe(200);
    expect(responseProblems('upload', answer.status, answer.body)).toEqual([]);
    expect(crm.uploads).toMatchObject([
      { name: 'a.png', size: 3, type: 'image/png' },
      { name: 'b.m4a', size: 1 },
    ]);
  });

  it('is rejected if it has too many, too large or unsupported files', async () => {
    const megabytes = (count: number) => new Uint8Array(count * 1024 * 1024);
    expect((await upload([new File([megabytes(5)], 'a.png')])).status).toBe(200);
    const large = await upload([new File([megabytes(5), 'x'], 'a.png')]);
    expect(large.status).toBe(413);
    expect(responseProblems('upload', large.status, large.body)).toEqual([]);
    const six = Array.from({ length: 6 }, (_, i) => new File(['x'], `${i}.png`));
    expect((await upload(six)).status).toBe(400);
    expect((await upload([new File(['x'], 'voice.caf')])).status).toBe(415);
    expect((await upload([new File(['x'], 'a.png')], { locationId: 'LocB' })).status).toBe(403);
  });
});
