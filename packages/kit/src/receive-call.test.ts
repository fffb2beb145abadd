import { describe, expect, it } from 'vitest';
import { issueToken, makeReaction, receiveCall, type Crm, type CrmCall } from './kit.ts';

const clientSecret = 'a-client-secret-of-32-characters';
const credentials = { client_id: 'my-crm', client_secret: clientSecret };

/** A CRM that records every message and status. */
function createCrm() {
  const recorded: unknown[] = [];
  const contacts = new Map([['loc1 +14155550100', 'c-1']]);
  const crm: Crm = {
    clientId: 'my-crm',
    clientSecret,
    findContact: (locationId, handle) => contacts.get(`${locationId} ${handle}`),
    createContact: (locationId, handle) => `new ${locationId} ${handle}`,
    saveMessage: (message) => `m-${recorded.push(message)}`,
    async saveStatus(update) {
      recorded.push(update);
      return update.messageId.startsWith('m');
    },
  };
  return { crm, recorded };
}

async function call(given: Partial<CrmCall>, locationId = 'loc1') {
  const { crm, recorded } = createCrm();
  const token = await issueToken('access', locationId, clientSecret);
  const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'k-1' };
  const response = await receiveCall({ method: 'POST', url: '/', headers, ...given }, crm);
  return { ...response, recorded };
}

const inbound = { type: 'SMS', locationId: 'loc1', contactId: 'c-1', message: 'Hi' };
const INBOUND = '/conversations/messages/inbound';

describe('receiveCall', () => {
  it('grants tokens for a code or a refresh token, from a form or from parsed fields', async () => {
    const code = await issueToken('code', 'loc1', clientSecret);
    const form = new URLSearchParams({ ...credentials, grant_type: 'authorization_code', code }).toString();
    const { status, body } = await call({ url: '/oauth/token', headers: {}, body: form });
    expect([status, body]).toMatchObject([
      200,
      { userType: 'Location', locationId: 'loc1', expires_in: 86_400 },
    ]);
    const refresh = { ...credentials, grant_type: 'refresh_token', refresh_token: body['refresh_token'] };
    const again = await call({ url: '/oauth/token', headers: {}, body: refresh });
    expect(again).toMatchObject({ status: 200, body: { locationId: 'loc1' } });
    const used = { authorization: `Bearer ${String(again.body['access_token'])}` };
    expect(await call({ url: INBOUND, headers: used, body: inbound })).toMatchObject({ status: 200 });
  });

  it.each([
    [401, 'invalid_client', { client_id: 'other' }],
    [401, 'invalid_client', { client_secret: `${clientSecret}x` }],
    [401, 'invalid_client', { client_secret: undefined }],
    [400, 'invalid_grant', { code: 'made up' }],
    [400, 'invalid_grant', { code: undefined }],
    [400, 'invalid_grant', { grant_type: 'refresh_token' }],
  ])('rejects a token request with %i %s: %j', async (status, error, change) => {
    const code = await issueToken('code', 'loc1', clientSecret);
    const body = { ...credentials, grant_type: 'authorization_code', code, ...change };
    expect(await call({ url: '/oauth/token', headers: {}, body })).toMatchObject({ status, body: { error } });
  });

  it('rejects an access token in place of a code', async () => {
    const code = await issueToken('access', 'loc1', clientSecret);
    const body = { ...credentials, grant_type: 'authorization_code', code };
    expect(await call({ url: '/oauth/token', body })).toMatchObject({ status: 400 });
  });

  it('finds a contact by phone number', async () => {
    const found = {
      method: 'GET',
      url: '/api/contacts/search/duplicate?locationId=loc1&number=%2B14155550100',
    };
    expect(await call(found)).toMatchObject({
      status: 200,
      body: { contact: { id: 'c-1', locationId: 'loc1' } },
    });
    const absent = { method: 'GET', url: '/contacts/search/duplicate?locationId=loc1&email=a%40example.com' };
    expect(await call(absent)).toMatchObject({ status: 200, body: { contact: null } });
    const incomplete = { method: 'GET', url: '/contacts/search/duplicate?locationId=loc1' };
    expect(await call(incomplete)).toMatchObject({ status: 400 });
  });

  it.each(['/contacts/upsert', '/contacts/'])('creates a contact only once: %s', async (url) => {
    const known = { locationId: 'loc1', phone: '+14155550100' };
    expect(await call({ url, body: JSON.stringify(known) })).toMatchObject({
      status: 200,
      body: { contact: { id: 'c-1' } },
    });
    const unknown = await call({ url, body: { locationId: 'loc1', email: 'a@example.com' } });
    expect(unknown.body).toEqual({ contact: { id: 'new loc1 a@example.com', locationId: 'loc1' } });
    expect(await call({ url, body: { locationId: 'loc1' } })).toMatchObject({ status: 400 });
  });

  it('passes on a parsed inbound message with its idempotency key', async () => {
    const message = makeReaction({
      chatId: 42,
      target: 'g-1',
      kind: 'classic',
      type: 'love',
      text: 'Loved “Hi”',
    });
    const body = JSON.stringify({
      ...inbound,
      message,
      attachments: ['https://example.com/a.png'],
      futureField: 1,
    });
    const { status, body: answer, recorded } = await call({ url: `https://crm.example/api${INBOUND}`, body });
    expect([status, answer]).toEqual([200, { success: true, messageId: 'm-1' }]);
    expect(recorded).toMatchObject([
      {
        ...inbound,
        message,
        text: 'Loved “Hi”',
        kind: 'reaction',
        direction: 'inbound',
        idempotencyKey: 'k-1',
      },
    ]);
    expect(recorded[0]).not.toHaveProperty('futureField');
    expect(recorded[0]).toMatchObject({
      metadata: { chat_id: 42 },
      attachments: ['https://example.com/a.png'],
    });
  });

  it('passes on a status, and responds 404 for an unknown message', async () => {
    const error = { code: 'TIMEOUT', type: 'error', message: 'The Mac did not respond.' };
    const body = JSON.stringify({ status: 'failed', error });
    const { status, recorded } = await call({
      method: 'PUT',
      url: '/conversations/messages/m%2F1/status',
      body,
    });
    expect(status).toBe(200);
    expect(recorded).toEqual([
      {
        locationId: 'loc1',
        messageId: 'm/1',
        status: 'failed',
        error: { code: error.code, message: error.message },
      },
    ]);
    for (const id of ['unknown', '%E0%A4%A'])
      expect(await call({ method: 'PUT', url: `/conversations/messages/${id}/status`, body })).toMatchObject({
        status: 404,
      });
  });

  it.each<[number, string, Partial<CrmCall>]>([
    [400, 'a body that is not JSON', { url: INBOUND, body: '{' }],
    [400, 'no body', { url: INBOUND }],
    [400, 'a missing field', { url: INBOUND, body: { ...inbound, contactId: undefined } }],
    [
      400,
      'an unknown status',
      { method: 'PUT', url: '/conversations/messages/m-1/status', body: { status: 'lost' } },
    ],
    [403, 'a message to another location', { url: INBOUND, body: { ...inbound, locationId: 'loc2' } }],
    [
      403,
      'a contact of another location',
      { url: '/contacts/upsert', body: { locationId: 'loc2', phone: '+1' } },
    ],
    [404, 'an unknown call', { url: '/conversations/messages' }],
    [404, 'a URL that cannot be parsed', { url: 'http://[' }],
    [401, 'no token', { url: INBOUND, headers: {}, body: inbound }],
    [401, 'a forged token', { url: INBOUND, headers: { authorization: 'Bearer a.b' }, body: inbound }],
    [
      401,
      'two tokens',
      { url: INBOUND, headers: { authorization: ['Bearer a', 'Bearer b'] }, body: inbound },
    ],
  ])('responds %i to %s', async (status, _, given) => {
    const ended = await call(given);
    expect([ended.status, ended.recorded]).toEqual([status, []]);
  });

  it('rethrows errors of the CRM, so that the bridge retries', async () => {
    const { crm } = createCrm();
    const broken: Crm = {
      ...crm,
      saveMessage: () => {
        throw new Error('the database is full');
      },
    };
    const headers = { authorization: `Bearer ${await issueToken('access', 'loc1', clientSecret)}` };
    await expect(
      receiveCall({ method: 'POST', url: INBOUND, headers, body: inbound }, broken),
    ).rejects.toThrow('full');
  });
});
