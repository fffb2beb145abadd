import { request as httpRequest } from 'node:http';

import { ANY_CHARACTER } from '@footbridge/testkit/any-character';
import { signBody } from '@footbridge/testkit/keys';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { GOOD, bridgesWithMac } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridgesWithMac();

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
