import { describe, expect, it } from 'vitest';

import { GOOD, LOCATION, bridgesWithMac, failuresReported, without } from './test-bridge.ts';
import type { Json } from './test-bridge.ts';

const start = bridgesWithMac();

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
