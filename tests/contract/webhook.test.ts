import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { GOOD, LOCATION, OTHER_LOCATION, bridgesWithMac, failuresReported, without } from './test-bridge.ts';
import type { Json } from './test-bridge.ts';

const start = bridgesWithMac();

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('a webhook', () => {
  it.each([
    ['/crm/webhook', 'imessage', /iMessage/],
    ['/crm/webhook/imessage', 'imessage', /iMessage/],
    ['/crm/webhook/sms', 'sms', /SMS/],
  ])('W1 can be posted to %s', async (path, channel, sentence) => {
    const bridge = await start();
    const { status, json } = await bridge.post(GOOD, { path });
    expect(status).toBe(200);
    expect(json?.['message']).toMatch(sentence);
    expect(await bridge.sent()).toMatchObject([{ type: 'send', channel, message: 'Hello' }]);
  });

  it.each(['/crm/webhook', '/crm/webhook/imessage', '/crm/webhook/sms'])(
    'W1 on %s is rejected for the same reasons',
    async (path) => {
      const bridge = await start();
      expect((await bridge.post(without('contactId'), { path })).json?.['code']).toBe(
        'MISSING_REQUIRED_FIELDS',
      );
      expect((await bridge.post(GOOD, { path, signature: 'AAAA' })).status).toBe(401);
    },
  );

  it('W2 gets 200 with the documented body, and the request id in a header', async () => {
    const bridge = await start();
    const { headers, json } = await bridge.post(GOOD);
    expect(json).toEqual({
      status: 'success',
      requestId: expect.stringMatching(UUID_V7),
      message: 'Message sent to iMessage',
      messageId: 'message-1',
      locationId: LOCATION,
    });
    expect(headers.get('x-request-id')).toBe(json?.['requestId']);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect((await bridge.sent())[0]?.requestId).toBe(json?.['requestId']);
  });

  it('W2 without a messageId gets null for it', async () => {
    const bridge = await start();
    expect((await bridge.post(without('messageId'))).json?.['messageId']).toBeNull();
    expect((await bridge.post({ ...GOOD, messageId: 5 })).json?.['messageId']).toBeNull();
    expect((await bridge.sent()).map(({ messageId }) => messageId)).toEqual([null, null]);
  });

  it('W2 gets an id of its own, like every response', async () => {
    const bridge = await start();
    const answers = await Promise.all([
      bridge.post(GOOD),
      bridge.post({}),
      bridge.post('{'),
      bridge.post(GOOD, { signature: 'x' }),
      bridge.fetch({ method: 'GET' }),
    ]);
    const ids = answers.map(({ headers }) => headers.get('x-request-id') ?? '');
    for (const id of ids) expect(id).toMatch(UUID_V7);
    expect(new Set(ids).size).toBe(5);
  });

  it('is forwarded to the Mac with the fields of the request and nothing else', async () => {
    const bridge = await start();
    const { json } = await bridge.post({ ...GOOD, attachments: ['https://cdn.example/a.png'], extra: 1 });
    expect(await bridge.sent()).toEqual([
      {
        type: 'send',
        requestId: json?.['requestId'],
        messageId: 'message-1',
        contactId: 'contact1',
        phone: '+14155550100',
        message: 'Hello',
        attachments: ['https://cdn.example/a.png'],
        channel: 'imessage',
      },
    ]);
  });
});

describe('a location without a Mac', () => {
  it('W16 gets 404; nothing is queued, and no other Mac gets the message', async () => {
    const bridge = await start();
    const { status, json } = await bridge.post({ ...GOOD, locationId: OTHER_LOCATION });
    expect(status).toBe(404);
    expect(json).toEqual({
      error: 'Location not connected',
      code: 'LOCATION_NOT_CONNECTED',
      locationId: OTHER_LOCATION,
      message: expect.stringMatching(/No Mac is connected/),
    });
    await bridge.mac(OTHER_LOCATION);
    expect(await bridge.sent()).toEqual([]);
    expect((await bridge.post({ ...GOOD, locationId: OTHER_LOCATION })).status).toBe(200);
  });

  it('W16 has an opaque id that is compared exactly', async () => {
    const bridge = await start();
    for (const locationId of [
      LOCATION.toLowerCase(),
      ` ${LOCATION}`,
      `${LOCATION} `,
      '__proto__',
      'constructor',
      `a/../${LOCATION}`,
      `${LOCATION}\u0000`,
    ])
      expect((await bridge.post({ ...GOOD, locationId })).status, locationId).toBe(404);
    await bridge.mac('a b/c', 'mac-of-a-b-c');
    expect((await bridge.post({ ...GOOD, locationId: 'a b/c' })).status).toBe(200);
  });
});

describe('the order of checks', () => {
  // Each body has the fault of its row and of all later rows; the earliest is reported.
  const attachments = ['nonsense'];
  const message = 'a'.repeat(20_001);
  const ladder: [string, Json, string][] = [
    ['type', { type: 'Email', attachments, message }, 'UNSUPPORTED_MESSAGE_TYPE'],
    [
      'required fields',
      { locationId: OTHER_LOCATION, attachments, message, phone: 'x' },
      'MISSING_REQUIRED_FIELDS',
    ],
    [
      'attachments',
      { locationId: OTHER_LOCATION, contactId: 'c', attachments, message, phone: 'x' },
      'INVALID_ATTACHMENTS',
    ],
    ['length', { locationId: OTHER_LOCATION, contactId: 'c', message, phone: 'x' }, 'MESSAGE_BODY_TOO_LONG'],
    [
      'phone',
      { locationId: OTHER_LOCATION, contactId: 'c', message: 'a', phone: 'x' },
      'RECIPIENT_PHONE_INVALID',
    ],
    [
      'Mac',
      { locationId: OTHER_LOCATION, contactId: 'c', message: 'a', phone: '12345' },
      'LOCATION_NOT_CONNECTED',
    ],
  ];
  it.each(ladder)('W17 reports the first failed check: %s', async (_name, body, code) => {
    const bridge = await start();
    expect((await bridge.post(body)).json?.['code']).toBe(code);
  });

  it('W17 is syntax, signature, rate limit, content type, shape', async () => {
    const bridge = await start({ env: { RATE_LIMIT_CRM_WEBHOOK: '1' } });
    const text = { headers: { 'Content-Type': 'text/plain' } };
    expect((await bridge.post('{', { signature: 'junk' })).status).toBe(400);
    expect((await bridge.post(GOOD, { ...text, signature: 'junk' })).status).toBe(401);
    expect((await bridge.post('{', text)).json?.['code']).toBe('INVALID_CONTENT_TYPE');
    expect((await bridge.post('{', text)).status).toBe(429);
    expect((await bridge.post('{', { ...text, signature: 'junk' })).status).toBe(401);
    await bridge.clock.skip(60_000);
    const patch = { headers: { 'Content-Type': 'application/json-patch+json' } };
    expect((await bridge.post({ ...GOOD, type: 'Email' }, patch)).json?.['code']).toBe(
      'INVALID_REQUEST_BODY',
    );
  });

  it('W17 does not count unsigned requests towards the limit of a location', async () => {
    const bridge = await start({ env: { RATE_LIMIT_CRM_WEBHOOK: '3' } });
    for (let n = 0; n < 20; n++) expect((await bridge.post(GOOD, { unsigned: true })).status).toBe(401);
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) statuses.push((await bridge.post(GOOD)).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });
});

describe('failures', () => {
  it('W18 the response waits only for the write to the socket', async () => {
    const bridge = await start({});
    const fault = bridge.crm.injectFault({ match: 'status', how: 'hang', times: 1000 });
    expect((await bridge.post({ ...GOOD, messageId: 'message-2', phone: 'x' })).status).toBe(400);
    expect((await bridge.post(GOOD)).status).toBe(200);
    await until(() => fault.hits === 2);
  });

  it('W19 an unexpected failure shows only an id, under which it is logged', async () => {
    const bridge = await start({ env: { FAILPOINTS: 'outbound.beforeForward:throw' } });
    const { status, headers, json, text } = await bridge.post(GOOD);
    expect(status).toBe(500);
    expect(json).toEqual({
      error: 'Internal error',
      code: 'INTERNAL_ERROR',
      requestId: headers.get('x-request-id'),
    });
    expect(text).not.toContain('failpoint');
    const line = bridge.bridge.logs.find((entry) => entry.includes(headers.get('x-request-id') ?? '?'));
    expect(line).toContain('failpoint');
    expect(line).not.toMatch(/Hello|4155550100/);
  });

  it('W19 an unavailable engine gets 503 with Retry-After, never 404', async () => {
    const bridge = await start({ env: { FAILPOINTS: 'outbound.switchboard:throw' } });
    const { status, headers, json } = await bridge.post(GOOD);
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toBe('5');
    expect(json).toMatchObject({
      error: 'Service unavailable',
      code: 'SERVICE_UNAVAILABLE',
      requestId: headers.get('x-request-id'),
    });
  });

  it.each([
    ['before it was forwarded', 'outbound.beforeForward', 500],
    ['because an engine is down', 'outbound.switchboard', 503],
  ])('A10 a request that failed %s is reported as failed', async (_, failpoint, status) => {
    const bridge = await start({ env: { FAILPOINTS: `${failpoint}:throw` } });
    expect((await bridge.post(GOOD)).status).toBe(status);
    expect((await bridge.post({ ...GOOD, messageId: 'unsigned' }, { signature: 'no' })).status).toBe(401);
    expect((await bridge.post(without('messageId'))).status).toBe(status);
    await until(() => bridge.crm.accepted('message-1').length > 0);
    const calls = bridge.crm.callsTo('status').map(({ params, body }) => [params['messageId'], body]);
    const error = {
      code: 'INTERNAL_ERROR',
      type: 'error',
      message: expect.stringContaining('Nothing was sent'),
    };
    expect(calls).toEqual([['message-1', { status: 'failed', error }]]);
  });

  it('A10 a request that failed after it was written is not reported as failed', async () => {
    const bridge = await start({ env: { FAILPOINTS: 'outbound.afterForward:throw' } });
    expect((await bridge.post(GOOD)).status).toBe(500);
    await until(() => bridge.crm.accepted('message-1').length > 0);
    expect(await failuresReported(bridge)).toEqual([]);
    expect(bridge.crm.accepted('message-1')).toEqual(['pending']);
  });
});

describe('methods', () => {
  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])(
    'W20 %s is not allowed',
    async (method) => {
      const bridge = await start();
      for (const path of ['/crm/webhook', '/crm/webhook/imessage', '/crm/webhook/sms']) {
        const { status, headers, json } = await bridge.fetch({ method, path });
        expect(status).toBe(405);
        expect(headers.get('allow')).toBe('POST');
        expect(json).toEqual({ error: 'Method not allowed', code: 'METHOD_NOT_ALLOWED' });
      }
    },
  );

  it('W20 HEAD is not allowed', async () => {
    const bridge = await start();
    const { status, headers } = await bridge.fetch({ method: 'HEAD' });
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('W20 a query has no effect', async () => {
    const bridge = await start();
    expect((await bridge.post(GOOD, { path: '/crm/webhook?a=b' })).status).toBe(200);
  });
});
