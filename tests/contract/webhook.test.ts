import { request as httpRequest } from 'node:http';

import { ANY_CHARACTER } from '@footbridge/testkit/any-character';
import { signBody } from '@footbridge/testkit/keys';
import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { GOOD, LOCATION, OTHER_LOCATION, PHONE, bridgesWithMac } from './test-bridge.ts';
import type { Json, TestBridge } from './test-bridge.ts';

const start = bridgesWithMac();

const without = (...names: string[]): Json =>
  Object.fromEntries(Object.entries(GOOD).filter(([name]) => !names.includes(name)));
/** Returns the `failed` statuses that the CRM received. */
async function failuresReported(bridge: TestBridge, locationId = LOCATION) {
  await bridge.settled(0, locationId);
  return bridge.crm.calls.filter(
    ({ body, path }) => JSON.stringify(body)?.includes('"failed"') && !path.includes('settled-'),
  );
}
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

/** Field → the paths that earlier versions read instead. */
const REMOVED: [string, string[]][] = [
  ['locationId', ['location.id', 'accountId']],
  ['contactId', ['contact.id']],
  ['messageId', ['id', 'message.id', 'payload.id']],
  ['message', ['body', 'text', 'message.body', 'payload.body', 'data.body', 'raw']],
  [
    'phone',
    [
      'number',
      'toNumber',
      'toPhone',
      'toPhoneNumber',
      'to',
      'contact.phone',
      'contact.phoneNumber',
      'customer.phone',
      'payload.phone',
      'payload.number',
      'data.phone',
      'data.number',
    ],
  ],
  ['attachments', ['payload.attachments', 'data.attachments', 'message.attachments']],
  [
    'conversationId',
    [
      'message.conversationId',
      'payload.conversationId',
      'conversationProviderId',
      'payload.conversationProviderId',
    ],
  ],
];
const aliases = REMOVED.flatMap(([field, paths]) => paths.map((path) => [path, field] as const));

/** The value at a path such as `contact.phone`, in a body that may have something there already. */
function place(body: Json, path: string, value: unknown): Json {
  const [first = '', second] = path.split('.');
  return { ...body, [first]: second === undefined ? value : { [second]: value } };
}

describe('removed aliases', () => {
  it('W3 the list has 31 names', () => {
    expect(aliases).toHaveLength(31);
  });

  it.each(aliases.filter(([, field]) => !['messageId', 'conversationId', 'attachments'].includes(field)))(
    'W3 %s is not read for %s',
    async (path, field) => {
      const bridge = await start();
      const body = place(without(field), path, GOOD[field as keyof typeof GOOD]);
      const { status, json } = await bridge.post(body);
      expect(status).toBe(400);
      expect(json).toMatchObject({
        code: 'MISSING_REQUIRED_FIELDS',
        required: [field === 'message' ? 'message or attachments' : field],
      });
      expect(await bridge.sent()).toEqual([]);
    },
  );

  it.each(aliases.filter(([, field]) => field === 'attachments'))(
    'W3 %s is not read for %s',
    async (path) => {
      const bridge = await start();
      const body = place(without('message'), path, ['https://cdn.example/a.png']);
      const { status, json } = await bridge.post(body);
      expect(status).toBe(400);
      expect(json).toMatchObject({ code: 'MISSING_REQUIRED_FIELDS', required: ['message or attachments'] });
    },
  );

  it.each(aliases.filter(([, field]) => field === 'messageId'))('W3 %s is not read for %s', async (path) => {
    const bridge = await start();
    // An alias of the message needs another content, so that the request is accepted.
    const body = place(
      { ...without('messageId'), attachments: ['https://cdn.example/a.png'] },
      path,
      'alias',
    );
    const { status, json } = await bridge.post(body);
    expect(status).toBe(200);
    expect(json?.['messageId']).toBeNull();
    expect((await bridge.sent())[0]?.messageId).toBeNull();
    await bridge.post({ ...body, phone: 'nonsense' });
    expect(await failuresReported(bridge)).toEqual([]);
  });

  it.each(aliases.filter(([, field]) => field === 'conversationId'))(
    'W3 %s is not read for messageId',
    async (path) => {
      const bridge = await start();
      const body = place(
        { ...without('messageId'), attachments: ['https://cdn.example/a.png'] },
        path,
        'alias',
      );
      expect((await bridge.post(body)).json?.['messageId']).toBeNull();
      expect(JSON.stringify(await bridge.sent())).not.toContain('alias');
    },
  );

  it('W3 a name in another case or with a space is not read', async () => {
    const bridge = await start();
    for (const [from, to] of [
      ['locationId', 'locationID'],
      ['contactId', 'contactid'],
      ['message', 'Message'],
      ['phone', ' phone'],
    ] as const) {
      const { json } = await bridge.post({ ...without(from), [to]: GOOD[from] });
      expect(json?.['code'], to).toBe('MISSING_REQUIRED_FIELDS');
    }
  });
});

describe('required fields', () => {
  const blank = ['', ' ', '\t\n', '\u00a0\u2003', null, 0, 1, true, {}, [], ['x'], { id: 'x' }];
  it.each(['locationId', 'contactId', 'message', 'phone'])(
    'W4 %s must be a string that is not blank',
    async (name) => {
      const bridge = await start();
      for (const value of [...blank, undefined]) {
        const { status, json } = await bridge.post({ ...GOOD, [name]: value });
        expect(status, JSON.stringify(value)).toBe(400);
        expect(json).toMatchObject({
          code: 'MISSING_REQUIRED_FIELDS',
          required: [name === 'message' ? 'message or attachments' : name],
        });
      }
      expect(await bridge.sent()).toEqual([]);
    },
  );

  it('W4 a message that is an object counts as missing', async () => {
    const bridge = await start();
    const { json } = await bridge.post({ ...GOOD, message: { body: 'Hello', text: 'Hello' } });
    expect(json).toMatchObject({ code: 'MISSING_REQUIRED_FIELDS', required: ['message or attachments'] });
  });

  it('W4 attachments replace a message', async () => {
    const bridge = await start();
    for (const message of [undefined, ' ', { body: 'x' }])
      expect(
        (await bridge.post({ ...GOOD, message, attachments: ['https://cdn.example/a.png'] })).status,
      ).toBe(200);
    for (const frame of await bridge.sent())
      expect(frame).toMatchObject({ message: null, attachments: ['https://cdn.example/a.png'] });
  });

  it('W4 a message is forwarded unchanged, including white space', async () => {
    const bridge = await start();
    const message = '  two\n\tlines \u202e and a 👨‍👩‍👧‍👦 ';
    await bridge.post({ ...GOOD, message });
    expect((await bridge.sent())[0]?.message).toBe(message);
  });

  it('W4 ids that are too long for a frame count as missing', async () => {
    const bridge = await start();
    expect((await bridge.post({ ...GOOD, contactId: 'c'.repeat(1025) })).json).toMatchObject({
      required: ['contactId'],
    });
    expect((await bridge.post({ ...GOOD, locationId: 'l'.repeat(257) })).json).toMatchObject({
      required: ['locationId'],
    });
  });

  it('W15 a rejection lists the missing and the known fields, and repeats no value', async () => {
    const bridge = await start();
    const { json, text } = await bridge.post({
      messageId: 'canary-1',
      userId: 'canary-2',
      other: 'canary-3',
    });
    expect(json).toEqual({
      error: 'Missing required fields',
      code: 'MISSING_REQUIRED_FIELDS',
      required: ['locationId', 'contactId', 'message or attachments', 'phone'],
      received: ['messageId', 'userId'],
    });
    expect(text).not.toContain('canary');
  });

  it('W15 every 400 has a label and a code', async () => {
    const bridge = await start();
    const bodies: [unknown, string, string][] = [
      [{ ...GOOD, phone: 'x' }, 'Invalid phone number format', 'RECIPIENT_PHONE_INVALID'],
      [{ ...GOOD, type: 'Email' }, 'Unsupported message type: Email', 'UNSUPPORTED_MESSAGE_TYPE'],
      [{ ...GOOD, attachments: ['x'] }, 'Invalid attachments', 'INVALID_ATTACHMENTS'],
    ];
    for (const [body, error, code] of bodies)
      expect((await bridge.post(body)).json).toMatchObject({ error, code });
  });
});

describe('attachments', () => {
  const url = 'https://cdn.example/a.png';
  it.each([
    ['the scheme http', ['http://cdn.example/a.png']],
    ['a port, a query and a fragment', ['https://cdn.example:8443/a?b=c#d']],
    ['non-ASCII letters', ['https://cdn.example/файл.png']],
    ['twenty URLs', Array.from({ length: 20 }, () => url)],
  ])('W5 with %s are accepted', async (_name, attachments) => {
    const bridge = await start();
    expect((await bridge.post({ ...GOOD, attachments })).status).toBe(200);
    expect((await bridge.sent())[0]?.attachments).toEqual(attachments);
  });

  it.each([
    ['a relative path', '/a.png'],
    ['a URL without a scheme', 'cdn.example/a.png'],
    ['an ftp URL', 'ftp://cdn.example/a.png'],
    ['a data URL', 'data:image/png;base64,AA=='],
    ['a javascript URL', 'javascript:alert(1)'],
    ['a file URL', 'file:///etc/passwd'],
    ['a URL without a host', 'https://'],
    ['a URL with one slash', 'https:/cdn.example/a.png'],
    ['a URL with an invalid port', 'https://cdn.example:99999/'],
    ['an empty string', ''],
    ['a URL with a line break', 'https://cdn.example/\na.png'],
    ['a URL with a lone surrogate', 'https://cdn.example/\ud800'],
    ['a URL that is too long', `https://cdn.example/${'a'.repeat(2048)}`],
    ['a number', 5],
    ['null', null],
    ['an object', { url }],
    ['a list', [url]],
  ])('W5 %s is rejected with its index', async (_name, entry) => {
    const bridge = await start();
    for (const [attachments, index] of [
      [[entry], 0],
      [[url, url, entry, entry], 2],
    ] as const) {
      const { status, json } = await bridge.post({ ...GOOD, attachments });
      expect(status).toBe(400);
      expect(json).toEqual({ error: 'Invalid attachments', code: 'INVALID_ATTACHMENTS', received: index });
    }
    expect(await bridge.sent()).toEqual([]);
  });

  it('W5 the 21st attachment is rejected', async () => {
    const bridge = await start();
    const { json } = await bridge.post({ ...GOOD, attachments: Array.from({ length: 21 }, () => url) });
    expect(json).toMatchObject({ code: 'INVALID_ATTACHMENTS', received: 20 });
  });

  it('W5 an empty list counts as absent', async () => {
    const bridge = await start();
    expect((await bridge.post({ ...GOOD, attachments: [] })).status).toBe(200);
    expect((await bridge.post({ ...without('message'), attachments: [] })).json).toMatchObject({
      required: ['message or attachments'],
    });
  });

  it.each([
    ['a string', url],
    ['an empty string', ''],
    ['an object', { 0: url, length: 1 }],
    ['a number', 5],
    ['false', false],
  ])('W5 %s instead of a list is rejected, with and without a message', async (_name, attachments) => {
    const bridge = await start();
    for (const body of [GOOD, without('message')]) {
      const { status, json } = await bridge.post({ ...body, attachments });
      expect(status).toBe(400);
      expect(json).toEqual({ error: 'Invalid attachments', code: 'INVALID_ATTACHMENTS', received: 0 });
    }
    expect(await bridge.sent()).toEqual([]);
  });

  it('W5 null counts as absent, like an empty list', async () => {
    const bridge = await start();
    expect((await bridge.post({ ...GOOD, attachments: null })).status).toBe(200);
    expect((await bridge.post({ ...without('message'), attachments: null })).json).toMatchObject({
      required: ['message or attachments'],
    });
  });
});

describe('the length of a message', () => {
  it.each([
    ['20,000 letters', 'a'.repeat(20_000), 200],
    ['20,000 Chinese letters', '中'.repeat(20_000), 200],
    ['10,000 emoji', '😀'.repeat(10_000), 200],
    ['20,001 letters', 'a'.repeat(20_001), 400],
    ['10,001 emoji', '😀'.repeat(10_001), 400],
    ['1,819 family emoji', '👨‍👩‍👧‍👦'.repeat(1819), 400],
    ['200,000 letters', 'a'.repeat(200_000), 400],
  ])('W6 of %s gets %3$s', async (_name, message, expected) => {
    const bridge = await start();
    const { status, json } = await bridge.post({ ...GOOD, message });
    expect(status).toBe(expected);
    if (expected === 200) return expect((await bridge.sent())[0]?.message).toBe(message);
    expect(json).toEqual({
      error: 'Message body exceeds maximum length of 20000 characters',
      code: 'MESSAGE_BODY_TOO_LONG',
      received: message.length,
      limit: 20_000,
    });
  });

  it('W6 is counted after decoding: 20,000 escaped letters are accepted', async () => {
    const bridge = await start();
    const escaped = JSON.stringify(GOOD).replace('Hello', '\\u4e2d'.repeat(20_000));
    expect(escaped.length).toBeGreaterThan(120_000);
    expect((await bridge.post(escaped)).status).toBe(200);
    expect((await bridge.sent())[0]?.message).toBe('中'.repeat(20_000));
  });

  it('W6 has a configurable limit and includes the footer', async () => {
    const bridge = await start({ env: { MESSAGE_BODY_MAX_LENGTH_CHARS: '60' } });
    const footer = '\n-- svc-metadata:v1 --\n{}\n-- end svc-metadata --';
    expect((await bridge.post({ ...GOOD, message: 'a'.repeat(60) })).status).toBe(200);
    const { json } = await bridge.post({ ...GOOD, message: `${'a'.repeat(20)}${footer}` });
    expect(json).toMatchObject({ error: 'Message body exceeds maximum length of 60 characters', limit: 60 });
  });
});

describe('a phone that is looked up', () => {
  const contactWith = (bridge: TestBridge, phone?: string) =>
    bridge.crm.addContact({ locationId: LOCATION, ...(phone !== undefined && { phone }) }).id;
  const lookUps = (bridge: TestBridge) => bridge.crm.callsTo('contact').map(({ params }) => params);

  it('W7 is the phone of the contact', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, '(415) 555-0199');
    expect((await bridge.post({ ...without('phone'), contactId })).status).toBe(200);
    expect(bridge.crm.callsTo('contact')).toMatchObject([
      { locationId: LOCATION, path: `/contacts/${contactId}` },
    ]);
    expect((await bridge.sent())[0]?.phone).toBe('+14155550199');
  });

  it('W7 is missing when the contact has none', async () => {
    const bridge = await start();
    for (const phone of [undefined, '', '  ']) {
      const contactId = contactWith(bridge, phone);
      const { status, json } = await bridge.post({ ...without('phone'), contactId });
      expect(status).toBe(400);
      expect(json).toMatchObject({ code: 'MISSING_REQUIRED_FIELDS', required: ['phone'] });
    }
    expect(lookUps(bridge)).toHaveLength(3);
  });

  it('W7 is not looked up when the request has one', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, '+14155550199');
    await bridge.post({ ...GOOD, contactId });
    expect((await bridge.sent())[0]?.phone).toBe(PHONE);
    expect(lookUps(bridge)).toEqual([]);
  });

  it('W7 is not looked up for a request that lacks another field or has another type', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, '+14155550199');
    await bridge.post({ ...without('phone', 'message'), contactId });
    await bridge.post(without('phone', 'contactId'));
    await bridge.post({ ...without('phone'), contactId, type: 'Email' });
    expect(lookUps(bridge)).toEqual([]);
  });

  it('W7 is missing when the CRM fails', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, '+14155550199');
    const fault = bridge.crm.injectFault({ match: 'contact', how: { status: 500 } });
    const { json } = await bridge.post({ ...without('phone'), contactId });
    expect(json).toMatchObject({ required: ['phone'] });
    expect(fault.hits).toBe(1);
    expect(await bridge.sent()).toEqual([]);
  });

  it('W7 is missing when the CRM does not respond within five seconds', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, '+14155550199');
    const fault = bridge.crm.injectFault({ match: 'contact', how: 'hang' });
    const answer = bridge.post({ ...without('phone'), contactId });
    await until(() => fault.hits === 1);
    await bridge.clock.skip(5000);
    expect((await answer).json).toMatchObject({ code: 'MISSING_REQUIRED_FIELDS', required: ['phone'] });
  });

  it('W7 is rejected when it is not a phone number', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, 'ask Anna');
    const { json } = await bridge.post({ ...without('phone'), contactId });
    expect(json?.['code']).toBe('RECIPIENT_PHONE_INVALID');
  });
});

describe('phone numbers', () => {
  it.each([
    ['+14155550100', '+14155550100'],
    ['+1 (415) 555-0100', '+14155550100'],
    ['+1.415.555.0100', '+14155550100'],
    ['415-555-0100', '+14155550100'],
    ['(415) 555 0100', '+14155550100'],
    ['1 415 555 0100', '+14155550100'],
    ['  +44 20 7946 0958 ', '+442079460958'],
    ['+31 6 12345678', '+31612345678'],
    ['+49\u00a030\u2011901820', '+4930901820'],
    ['011 44 20 7946 0958', '+442079460958'],
    ['12345', '12345'],
    ['123', '123'],
    ['12345678', '12345678'],
    ['88-22-33', '882233'],
  ])('W8 %j is forwarded as %s', async (phone, expected) => {
    const bridge = await start();
    expect((await bridge.post({ ...GOOD, phone })).status).toBe(200);
    expect((await bridge.sent())[0]?.phone).toBe(expected);
  });

  it('W8 numbers without a country code belong to the configured country', async () => {
    const bridge = await start({ env: { PHONE_DEFAULT_COUNTRY: 'NL' } });
    await bridge.post({ ...GOOD, phone: '06 12345678' });
    expect((await bridge.sent())[0]?.phone).toBe('+31612345678');
  });

  it.each([
    'anna@example.com',
    'nonsense',
    '+',
    '12',
    '+1',
    '+1415555010',
    '+141555501000',
    '+0123456789',
    '+999999999999',
    '+1415555010a',
    '+1 415 555 0100 x5',
    '+14155550100;ext=5',
    '++14155550100',
    'tel:+14155550100',
    '٠١٢٣٤٥٦٧٨٩',
    '+1415555\u00000100',
    '9'.repeat(40),
    `+1415${' '.repeat(100)}5550100`,
  ])('W8 %j is rejected', async (phone) => {
    const bridge = await start();
    const { status, json } = await bridge.post({ ...GOOD, phone });
    expect(status).toBe(400);
    expect(json).toEqual({ error: 'Invalid phone number format', code: 'RECIPIENT_PHONE_INVALID' });
    expect(await bridge.sent()).toEqual([]);
  });
});

describe('type, userId and unknown fields', () => {
  it('W9 type can be SMS or absent', async () => {
    const bridge = await start();
    expect((await bridge.post({ ...GOOD, type: 'SMS' })).status).toBe(200);
    expect((await bridge.post(GOOD)).status).toBe(200);
  });

  it.each([
    ['Email', 'Email'],
    ['sms', 'sms'],
    ['SMS ', 'SMS '],
    ['', ''],
    [null, 'null'],
    [5, '5'],
    [false, 'false'],
    [['SMS'], 'array'],
    [{ a: 1 }, 'object'],
    ['x'.repeat(1000), `${'x'.repeat(64)}…`],
  ])('W9 type %j is not supported', async (type, shown) => {
    const bridge = await start();
    const { status, json } = await bridge.post({ ...GOOD, type });
    expect(status).toBe(400);
    expect(json).toEqual({ error: `Unsupported message type: ${shown}`, code: 'UNSUPPORTED_MESSAGE_TYPE' });
    expect(await bridge.sent()).toEqual([]);
  });

  it('W9 an unsupported type is reported before missing fields', async () => {
    const bridge = await start();
    const { json } = await bridge.post({
      locationId: LOCATION,
      contactId: 'c',
      type: 'Email',
      subject: 's',
      html: 'h',
    });
    expect(json?.['code']).toBe('UNSUPPORTED_MESSAGE_TYPE');
  });

  it('W10 userId is recorded for the operator, truncated and sanitised, and has no other effect', async () => {
    const bridge = await start();
    const userId = `us\u0000er\u001b[31m\n${'x'.repeat(500)}`;
    const { status, json } = await bridge.post({ ...GOOD, userId });
    expect(status).toBe(200);
    const { steps } = await bridge.journalled(json?.['requestId'], 'accepted');
    expect(steps[0]?.detail?.['userId']).toBe(`user[31m${'x'.repeat(56)}`);
    expect(JSON.stringify(await bridge.sent())).not.toContain('user');
  });

  it('W10 unknown fields are ignored, whatever their values', async () => {
    const bridge = await start();
    const { status } = await bridge.post({
      ...GOOD,
      replyToAltId: 'x',
      webhookId: 'y',
      nested: { deep: [1, { phone: '+1' }] },
      emailTo: ['a@example.com'],
    });
    expect(status).toBe(200);
    expect(Object.keys((await bridge.sent())[0] ?? {})).toEqual([
      'type',
      'requestId',
      'messageId',
      'contactId',
      'phone',
      'message',
      'attachments',
      'channel',
    ]);
  });
});

describe('content types and bodies', () => {
  const typed = (bridge: TestBridge, body: string, contentType: string) =>
    bridge.post(body, { headers: { 'Content-Type': contentType } });

  it.each([
    'text/plain',
    'text/json',
    'application/xml',
    'application/x-www-form-urlencoded',
    'application/vnd.api+json',
    '*/*',
  ])('W11 the content type %s is rejected even with a valid signature', async (contentType) => {
    const bridge = await start();
    for (const body of [JSON.stringify(GOOD), 'not json', '']) {
      const { status, json } = await typed(bridge, body, contentType);
      expect(status).toBe(400);
      expect(json).toEqual({ error: 'Invalid content type', code: 'INVALID_CONTENT_TYPE' });
    }
  });

  it('W11 a request without a content type is rejected', async () => {
    const bridge = await start();
    const body = JSON.stringify(GOOD);
    const text = await bridge.raw(
      `POST /crm/webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-CRM-Signature: ${signBody(body, bridge.crm.key)}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('INVALID_CONTENT_TYPE');
  });

  it.each([
    'application/json-patch+json',
    'application/jsonl',
    'application/json-seq',
    'application/jsonp',
    'text/plain, application/json',
    'multipart/mixed; type="application/json"',
  ])('W12 the content type %s is rejected as another media type', async (contentType) => {
    const bridge = await start();
    const { status, json } = await typed(bridge, JSON.stringify(GOOD), contentType);
    expect(status).toBe(400);
    expect(json).toEqual({ error: 'Invalid request body', code: 'INVALID_REQUEST_BODY' });
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'Application/JSON ; charset="utf-8"',
    'application/json; profile=x',
  ])('W12 the content type %s is accepted', async (contentType) => {
    const bridge = await start();
    expect((await typed(bridge, JSON.stringify(GOOD), contentType)).status).toBe(200);
  });

  it('W13 an array lacks all required fields', async () => {
    const bridge = await start();
    for (const body of ['[]', JSON.stringify([GOOD]), '[[[]]]']) {
      const { status, json } = await bridge.post(body);
      expect(status).toBe(400);
      expect(json).toMatchObject({
        code: 'MISSING_REQUIRED_FIELDS',
        required: ['locationId', 'contactId', 'message or attachments', 'phone'],
        received: [],
      });
    }
  });

  it('W13 an empty body is rejected', async () => {
    const bridge = await start();
    const { status, json } = await bridge.post('');
    expect(status).toBe(400);
    expect(json).toEqual({ error: 'Invalid request body', code: 'INVALID_REQUEST_BODY' });
  });

  it.each(['"text"', '5', 'true', 'null'])('W13 the bare value %s is malformed', async (body) => {
    const bridge = await start();
    const { status, json, text } = await bridge.post(body);
    expect(status).toBe(400);
    expect(json).toBeUndefined();
    expect(text).toContain('<html');
  });

  it.each([
    ['cut off', '{"locationId":"CANARY'],
    ['a trailing comma', '{"CANARY":1,}'],
    ['single quotes', "{'CANARY':1}"],
    ['white space only', '  \n'],
    ['two values', '{} {"CANARY":1}'],
    ['NaN', '{"CANARY":NaN}'],
    ['a raw control character', '{"CANARY":"\u0001"}'],
  ])('W14 malformed JSON is rejected: %s', async (_name, body) => {
    const bridge = await start();
    for (const options of [{}, { unsigned: true }, { signature: 'junk' }] as const) {
      const { status, headers, text, json } = await bridge.post(body, options);
      expect(status).toBe(400);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(json).toBeUndefined();
      expect(text).toMatch(/^<!DOCTYPE html>/);
      expect(text).not.toMatch(/CANARY|at |\.ts|node:|code/);
    }
    expect(bridge.log).not.toContain('CANARY');
  });

  it('W14 bytes that are not UTF-8 are malformed', async () => {
    const bridge = await start();
    const body = Buffer.concat([Buffer.from('{"message":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
    const { status, text } = await bridge.post(body);
    expect(status).toBe(400);
    expect(text).toContain('<html');
  });

  it('W14 a body of exactly 1 MiB is accepted, and one byte more gets 413', async () => {
    const bridge = await start();
    const padded = (size: number) => {
      const body = JSON.stringify(GOOD);
      return body + ' '.repeat(size - body.length);
    };
    expect((await bridge.post(padded(1_048_576))).status).toBe(200);
    const { status, headers, text } = await bridge.post(padded(1_048_577), { unsigned: true });
    expect(status).toBe(413);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(text).toContain('<html');
  });

  it('W14 a chunked body over 1 MiB gets 413 too, and the connection stays open', async () => {
    const bridge = await start();
    const { status, next } = await new Promise<{ status?: number | undefined; next: number }>(
      (resolve, reject) => {
        const request = httpRequest(`${bridge.url}/crm/webhook`, { method: 'POST' }, (response) => {
          response.resume().on('end', () => {
            void bridge
              .post(GOOD)
              .then((answer) => resolve({ status: response.statusCode, next: answer.status }), reject);
          });
        });
        request.on('error', reject);
        for (let part = 0; part < 40; part++) request.write(Buffer.alloc(65_536, 32));
        request.end();
      },
    );
    expect({ status, next }).toEqual({ status: 413, next: 200 });
  });

  it.each(['gzip', 'br', 'deflate', 'identity, gzip', 'x-unknown'])(
    'W14 Content-Encoding %s gets 415',
    async (encoding) => {
      const bridge = await start();
      const { status, headers, text } = await bridge.post(GOOD, {
        headers: { 'Content-Encoding': encoding },
      });
      expect(status).toBe(415);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(text).toContain('<html');
    },
  );

  it.each(['identity', 'Identity'])('W14 Content-Encoding %s is accepted', async (encoding) => {
    const bridge = await start();
    expect((await bridge.post(GOOD, { headers: { 'Content-Encoding': encoding } })).status).toBe(200);
  });

  it.each(['utf-16', 'iso-8859-1', 'nonsense'])('W14 the charset %s gets 415', async (charset) => {
    const bridge = await start();
    const { status } = await typed(bridge, JSON.stringify(GOOD), `application/json; charset=${charset}`);
    expect(status).toBe(415);
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

describe('reports about webhooks', () => {
  it.each([
    ['MISSING_REQUIRED_FIELDS', without('contactId'), 'MISSING_REQUIRED_FIELDS'],
    ['MESSAGE_BODY_TOO_LONG', { ...GOOD, message: 'a'.repeat(20_001) }, 'MESSAGE_BODY_TOO_LONG'],
    ['RECIPIENT_PHONE_INVALID', { ...GOOD, phone: 'x' }, 'RECIPIENT_PHONE_INVALID'],
    ['the 404', { ...GOOD, locationId: OTHER_LOCATION }, 'CLIENT_NOT_CONNECTED'],
  ])('A7 %s is also reported as a status', async (_name, body, code) => {
    const bridge = await start();
    await bridge.authorise(OTHER_LOCATION);
    // The rejection of a message that is in progress is not reported (A5).
    const messageId = `rejected with ${code}`;
    await bridge.post({ ...body, messageId });
    const [failed] = await until(() => {
      const failures = bridge.crm.statuses.filter(({ status }) => status === 'failed');
      return failures.length > 0 ? failures : undefined;
    });
    expect(failed).toMatchObject({
      locationId: body['locationId'],
      messageId,
      error: { code, message: expect.stringMatching(/\w/) },
    });
    expect(await failuresReported(bridge)).toHaveLength(1);
  });

  it.each([
    ['INVALID_CONTENT_TYPE', GOOD, { headers: { 'Content-Type': 'text/plain' } }],
    ['INVALID_REQUEST_BODY', GOOD, { headers: { 'Content-Type': 'application/jsonl' } }],
    ['UNSUPPORTED_MESSAGE_TYPE', { ...GOOD, type: 'Email' }, {}],
    ['INVALID_ATTACHMENTS', { ...GOOD, attachments: ['x'] }, {}],
    ['401', GOOD, { signature: 'x' }],
    ['200', GOOD, {}],
    ['an unusable messageId', { ...GOOD, messageId: '..', phone: 'x' }, {}],
    ['no messageId', { ...without('messageId'), phone: 'x' }, {}],
    ['no location', without('locationId'), {}],
  ])('A7 %s is not reported as a status', async (_name, body, options) => {
    const bridge = await start();
    await bridge.post(body, options);
    expect(await failuresReported(bridge)).toEqual([]);
  });

  it('A7 a 429 is not reported as a status', async () => {
    const bridge = await start({ env: { RATE_LIMIT_CRM_WEBHOOK: '1' } });
    await bridge.authorise(OTHER_LOCATION);
    await bridge.mac(OTHER_LOCATION);
    await bridge.post(GOOD);
    expect((await bridge.post({ ...GOOD, phone: 'x' })).status).toBe(429);
    expect(await failuresReported(bridge, OTHER_LOCATION)).toEqual([]);
  });

  it('A1 a messageId that cannot be a path segment gets no callback, and the response repeats it', async () => {
    const bridge = await start();
    for (const messageId of ['.', '..', '', 'x'.repeat(257), '\ud800']) {
      const { status, json } = await bridge.post({ ...GOOD, messageId });
      expect(status).toBe(200);
      expect(json?.['messageId']).toBe(messageId);
    }
    expect((await bridge.sent()).map(({ messageId }) => messageId)).toEqual([null, null, null, null, null]);
  });

  it('the journal has accepted and rejected requests, without text or number', async () => {
    const bridge = await start();
    const answers = [
      await bridge.post({ ...GOOD, message: 'CANARY text' }),
      await bridge.post({ ...GOOD, locationId: OTHER_LOCATION }),
      await bridge.post({ ...GOOD, phone: 'CANARY' }),
      await bridge.post(GOOD, { signature: 'x' }),
    ];
    const [accepted, notConnected, rejected, unsigned] = answers.map(({ headers }) =>
      headers.get('x-request-id'),
    );
    const messages = [
      await bridge.journalled(accepted, 'written'),
      await bridge.journalled(notConnected, 'not_connected'),
      await bridge.journalled(rejected, 'rejected'),
    ];
    expect(messages).toMatchObject([
      { direction: 'outbound', locationId: LOCATION, kind: 'text', phone: '+1•••0100', length: 11 },
      { status: 'rejected', code: 'LOCATION_NOT_CONNECTED' },
      { status: 'rejected', code: 'RECIPIENT_PHONE_INVALID', phone: null },
    ]);
    expect(messages[0]?.steps[0]).toMatchObject({
      step: 'accepted',
      detail: { key: 'CRM_PUBLIC_KEY', channel: 'imessage' },
    });
    expect(JSON.stringify(messages)).not.toMatch(/CANARY|4155550100/);
    expect(await bridge.operator('GET', `/operator/messages/${unsigned}`)).toMatchObject({ status: 404 });
  });

  it.each([
    ['text', {}, 'text'],
    ['attachment', { attachments: ['https://cdn.example/a.png'] }, 'attachment'],
    [
      'reaction',
      { reaction: { kind: 'classic', action: 'add', target_message_guid: 'g', type: 'love' } },
      'reaction',
    ],
    ['sticker', { sticker: { url: 'https://cdn.example/s.png' } }, 'sticker'],
    ['group', { is_group: true }, 'group'],
  ])('the journal recognises a %s by its footer', async (_name, more, kind) => {
    const bridge = await start();
    const isFooter = kind !== 'text' && kind !== 'attachment';
    const footer = `\n-- svc-metadata:v1 --\n${JSON.stringify({ chat_id: 1, ...more })}\n-- end svc-metadata --`;
    const { json } = await bridge.post(isFooter ? { ...GOOD, message: `Hi${footer}` } : { ...GOOD, ...more });
    expect(await bridge.journalled(json?.['requestId'], 'accepted')).toMatchObject({ kind });
  });

  it('I2 only a message that was sent sets the preferred contact of its number', async () => {
    const bridge = await start({});
    await bridge.authorise(OTHER_LOCATION);
    const [first, second] = [1, 2].map(() =>
      bridge.crm.addContact({ locationId: OTHER_LOCATION, phone: PHONE }),
    );
    const body = { ...GOOD, locationId: OTHER_LOCATION, contactId: second?.id };
    expect((await bridge.post(body)).status).toBe(404);
    const mac = await bridge.mac(OTHER_LOCATION);
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }));
    await bridge.post(body);
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }));
    expect(bridge.crm.messages.map(({ contactId }) => contactId)).toEqual([first?.id, second?.id]);
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
    expect(json).toMatchObject({ error: 'Service unavailable', code: 'SERVICE_UNAVAILABLE' });
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

describe('random bodies', () => {
  it('W4 get a documented response', async () => {
    const bridge = await start();
    const value = fc.oneof(
      fc.string({ unit: ANY_CHARACTER }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.jsonValue(),
    );
    const known = fc.constantFrom(
      ...Object.keys(GOOD),
      'type',
      'attachments',
      'userId',
      '__proto__',
      'constructor',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(known, value), { maxLength: 6 }), async (changes) => {
        const body = new Map<string, unknown>(Object.entries(GOOD));
        for (const [name, given] of changes) body.set(name, given);
        const text = `{${[...body].map(([name, given]) => `${JSON.stringify(name)}:${JSON.stringify(given)}`).join(',')}}`;
        const { status } = await bridge.post(text);
        expect([200, 400, 404]).toContain(status);
      }),
      { numRuns: 300 },
    );
    expect(bridge.bridge.logs.filter((line) => line.includes('"error"'))).toEqual([]);
  });
});
