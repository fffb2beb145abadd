import { signBody } from '@footbridge/testkit/keys';
import { beforeEach, describe, expect, it } from 'vitest';

import { GOOD, bridgesWithMac } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridgesWithMac();
let bridge: TestBridge;
beforeEach(async () => {
  bridge = await start();
});

const text = JSON.stringify(GOOD);
const FIELDS = ['locationId', 'contactId', 'message', 'attachments', 'messageId', 'phone', 'type', 'userId'];

/** Returns a body with this name, whose value is written as raw JSON. */
const withRaw = (name: string, json: string) =>
  `${JSON.stringify({ ...GOOD, [name]: undefined }).slice(0, -1)},${JSON.stringify(name)}:${json}}`;

describe('prototypes', () => {
  const poison =
    '{"locationId":"evil","contactId":"evil","message":"evil","phone":"12345","type":"Email","polluted":1}';

  it.each(['__proto__', 'constructor', 'prototype'])('W3 %s sets no field', async (name) => {
    const before = Object.getOwnPropertyNames(Object.prototype).join();
    const { status, json } = await bridge.post(`{"${name}":${poison}}`);
    expect(status).toBe(400);
    expect(json).toMatchObject({ code: 'MISSING_REQUIRED_FIELDS', received: [] });
    expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(before);
    expect('polluted' in {}).toBe(false);
  });

  it.each(['__proto__', 'constructor'])(
    'W10 %s in a valid message is ignored as an unknown field',
    async (name) => {
      const { status } = await bridge.post(withRaw(name, poison));
      expect(status).toBe(200);
      expect((await bridge.sent())[0]).toMatchObject({
        message: 'Hello',
        phone: GOOD.phone,
        contactId: 'contact1',
      });
    },
  );

  it('W16 locations with the names of built-in properties are ordinary locations', async () => {
    for (const locationId of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])
      expect((await bridge.post({ ...GOOD, locationId })).status).toBe(404);
  });
});

describe('repeated names', () => {
  it('W3 have the value of the last one, for the limit, the key and the Mac alike', async () => {
    const { json } = await bridge.post(text.replace('{', '{"locationId":"other","message":"first",'));
    expect(json).toMatchObject({ status: 'success', locationId: GOOD.locationId });
    expect((await bridge.sent())[0]?.message).toBe('Hello');
    expect((await bridge.post(text.replace(/}$/, ',"locationId":"other"}'))).json).toMatchObject({
      locationId: 'other',
    });
  });
});

describe('deep nesting', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

  it.each([10, 100, 500])('W10 %i levels in an unknown field are ignored', async (depth) => {
    expect((await bridge.post(withRaw('unknown', nested(depth)))).status).toBe(200);
    expect(await bridge.sent()).toHaveLength(1);
  });

  it.each([
    ['1,000 nested lists', nested(1000)],
    ['30,000 nested lists', nested(30_000)],
    ['40,000 nested lists', nested(40_000)],
    ['40,000 lists side by side', `[${'[],'.repeat(40_000)}{}]`],
    ['500,000 nested lists', nested(500_000)],
  ])('W14 %s are malformed, signed or not', async (_name, lists) => {
    for (const options of [{}, { unsigned: true }] as const) {
      const { status, text: page } = await bridge.post(withRaw('unknown', lists), options);
      expect([status, page.includes('<html')]).toEqual([400, true]);
    }
  });

  it.each([
    ['in one object', (many: number) => `{${Array.from({ length: many }, (_, at) => `"k${at}":1`).join()}}`],
    [
      'in as many objects',
      (many: number) => `[${Array.from({ length: many }, (_, at) => `{"k${at}":1}`).join()}]`,
    ],
  ])('W14 20,000 names, %s, are malformed, and 10,000 are ignored', async (_name, named) => {
    for (const options of [{}, { unsigned: true }] as const) {
      const { status, text: page } = await bridge.post(withRaw('unknown', named(20_000)), options);
      expect([status, page.includes('<html')]).toEqual([400, true]);
    }
    expect((await bridge.post(withRaw('unknown', named(10_000)))).status).toBe(200);
  });

  it('W14 rejects an array of 140,000 items as malformed, and ignores one of 130,000', async () => {
    const items = (count: number) => JSON.stringify(Array.from({ length: count }, () => 'a'));
    const { status, text: page } = await bridge.post(withRaw('unknown', items(140_000)));
    expect([status, page.includes('<html')]).toEqual([400, true]);
    expect((await bridge.post(withRaw('unknown', items(130_000)))).status).toBe(200);
  });

  it('W14 does not include colons in strings', async () => {
    expect(
      (await bridge.post({ ...GOOD, message: ':'.repeat(20_000), userId: ':'.repeat(20_000) })).status,
    ).toBe(200);
  });

  it('W14 does not include brackets in strings', async () => {
    const message = '[{'.repeat(8000) + '"\\"[' + '\\\\"[['.repeat(500);
    expect((await bridge.post({ ...GOOD, message })).status).toBe(200);
    expect((await bridge.sent())[0]?.message).toBe(message);
  });

  it.each(FIELDS)('W4 of 500 levels in %s gets the documented status', async (name) => {
    const deep = `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`;
    const { status } = await bridge.post(withRaw(name, deep));
    expect(status).toBe(['messageId', 'userId'].includes(name) ? 200 : 400);
  });

  it('W5 of 500 levels in an attachment is rejected', async () => {
    const deep = nested(500);
    expect((await bridge.post(withRaw('attachments', deep))).json).toMatchObject({
      code: 'INVALID_ATTACHMENTS',
      received: 0,
    });
  });

  it.each([500, 10_000])('W13 of %i levels in an array as the body is rejected', async (levels) => {
    const { status } = await bridge.post(nested(levels));
    expect(status).toBe(400);
  });
});

describe('unusual strings', () => {
  const odd: [string, string][] = [
    ['a lone high surrogate', '\ud800'],
    ['a lone low surrogate', '\udc00'],
    ['NUL', '\u0000'],
    ['line separators', '\u2028\u2029'],
    ['a right-to-left override', '\u202e'],
    ['a terminal escape', '\u001b]0;x\u0007'],
    ['a byte order mark', '\ufeff'],
    ['a noncharacter', '\uffff'],
  ];
  it.each(odd)('W4 with %s get the documented status in every field', async (_name, value) => {
    for (const name of FIELDS) {
      const given = name === 'attachments' ? [`https://cdn.example/${value}`] : `x${value}y`;
      const { status, json } = await bridge.post({ ...GOOD, [name]: given });
      const documented: Record<string, unknown> = {
        locationId: 404,
        phone: 400,
        type: 400,
        message: 200,
        contactId: 200,
        messageId: 200,
        userId: 200,
      };
      if (name in documented) expect(status, name).toBe(documented[name]);
      else expect([200, 400], name).toContain(status);
      if (name === 'locationId') expect(json?.['locationId']).toBe(given);
    }
    // A frame is UTF-8, which has no lone surrogates.
    const written = `x${value}y`.toWellFormed();
    expect((await bridge.sent()).map(({ message }) => message)).toContain(written);
  });

  it.each(FIELDS)('W4 of 1,000,000 letters in %s get the documented response', async (name) => {
    const { status, json } = await bridge.post({ ...GOOD, [name]: 'a'.repeat(1_000_000) });
    const expected: Record<string, [number, string | undefined]> = {
      locationId: [400, 'MISSING_REQUIRED_FIELDS'],
      contactId: [400, 'MISSING_REQUIRED_FIELDS'],
      message: [400, 'MESSAGE_BODY_TOO_LONG'],
      attachments: [400, 'INVALID_ATTACHMENTS'],
      messageId: [200, undefined],
      phone: [400, 'RECIPIENT_PHONE_INVALID'],
      type: [400, 'UNSUPPORTED_MESSAGE_TYPE'],
      userId: [200, undefined],
    };
    expect([status, json?.['code']]).toEqual(expected[name]);
    for (const frame of await bridge.sent()) expect(JSON.stringify(frame).length).toBeLessThan(1000);
  });

  it('W5 in a list of 100,000 attachments are rejected', async () => {
    const attachments = Array.from({ length: 100_000 }, () => 'a');
    expect((await bridge.post({ ...GOOD, attachments })).json).toMatchObject({ received: 0 });
  });

  it('of the maximum length fit in a frame that a Mac accepts', async () => {
    const { status } = await bridge.post({
      ...GOOD,
      contactId: '\u0001'.repeat(1023) + 'x',
      messageId: '\u0001'.repeat(256),
      message: '\u0001'.repeat(19_999) + 'x',
      attachments: Array.from({ length: 20 }, () => `https://x.example/${'中'.repeat(2030)}`),
    });
    expect(status).toBe(200);
    expect(Buffer.byteLength(JSON.stringify((await bridge.sent())[0]))).toBeLessThan(256 * 1024);
  });
});

describe('canary values', () => {
  it('W15 are in no log line, no journal step and no error page', async () => {
    const own = await start({});
    const canary = 'CaNaRy7f3a';
    const bodies: unknown[] = [
      ...['contactId', 'message', 'phone'].map((name) => ({ ...GOOD, [name]: canary })),
      { ...GOOD, attachments: [`https://cdn.example/${canary}`] },
      { ...GOOD, attachments: [canary] },
      { ...GOOD, extra: canary, message: { body: canary } },
      `{"${canary}`,
      { ...GOOD, message: canary.repeat(3000) },
    ];
    for (const body of bodies) {
      const answers = [
        await own.post(body),
        await own.post(body, { signature: canary }),
        await own.post(body, { unsigned: true }),
      ];
      for (const answer of answers) expect(answer.text).not.toContain(canary);
    }
    const last = await own.post(GOOD);
    await own.journalled(last.json?.['requestId'], 'written');
    const { body: journal } = await own.operator('GET', '/operator/messages?limit=200');
    // The malformed body is not recorded, but the last one is.
    expect(journal['messages']).toHaveLength(bodies.length);
    expect(JSON.stringify(journal)).not.toContain(canary);
    expect(own.log).not.toContain(canary);
    expect(await (await fetch(`${own.bridge.operatorUrl}/metrics`)).text()).not.toContain(canary);
  });
});

describe('ambiguous and broken requests', () => {
  const signature = () => signBody(text, bridge.crm.key);
  const send = (lines: string[], body = text) => bridge.raw(`${lines.join('\r\n')}\r\n\r\n${body}`);
  const HEAD = ['POST /crm/webhook HTTP/1.1', 'Host: x', 'Content-Type: application/json'];

  it.each<[string, string[]]>([
    ['two lengths', ['Content-Length: 5', `Content-Length: ${text.length}`]],
    ['a Content-Length and chunks', [`Content-Length: ${text.length}`, 'Transfer-Encoding: chunked']],
    ['an unknown Transfer-Encoding', ['Transfer-Encoding: identity, chunked']],
    ['a negative length', ['Content-Length: -1']],
    ['a space before the colon', [`Content-Length : ${text.length}`]],
    ['a folded header', [`Content-Length: ${text.length}`, 'X-CRM-Signature: a', ' b']],
    ['two hosts', ['Host: y', `Content-Length: ${text.length}`]],
  ])('W14 with %s are rejected by the server and not forwarded', async (_name, lines) => {
    const answer = await send([...HEAD, `X-CRM-Signature: ${signature()}`, ...lines]);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(await bridge.sent()).toEqual([]);
  });

  it('W14 that end in the middle of the body have no effect', async () => {
    const head = [...HEAD, `X-CRM-Signature: ${signature()}`, 'Content-Length: 100000'].join('\r\n');
    await bridge.breakOff(`${head}\r\n\r\n{"loc`);
    expect(await bridge.sent()).toEqual([]);
    expect((await bridge.post(GOOD)).status).toBe(200);
  });

  it('W1 in one packet get their responses in order', async () => {
    const one = [...HEAD, `X-CRM-Signature: ${signature()}`, `Content-Length: ${text.length}`].join('\r\n');
    const bad = [...HEAD, 'X-CRM-Signature: bad', `Content-Length: ${text.length}`].join('\r\n');
    const last = `${one}\r\nConnection: close`;
    const answer = await bridge.raw(`${one}\r\n\r\n${text}${bad}\r\n\r\n${text}${last}\r\n\r\n${text}`);
    expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      '200',
      '401',
      '200',
    ]);
    expect(await bridge.sent()).toHaveLength(2);
  });

  it('W14 with a body in chunks of one byte are accepted', async () => {
    const chunks = Array.from(text, (letter) => `1\r\n${letter}\r\n`).join('');
    const answer = await send(
      [...HEAD, `X-CRM-Signature: ${signature()}`, 'Transfer-Encoding: chunked', 'Connection: close'],
      `${chunks}0\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});
