import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { PRESET_NAMES, presetKey } from '@footbridge/service/relay/keys/presets-disk';
import { ed25519Key, fixedRsaKey, signBody } from '@footbridge/testkit/keys';
import type { SigningKey } from '@footbridge/testkit/keys';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { GOOD, LOCATION, OTHER_LOCATION, bridgesWithMac } from './test-bridge.ts';

const start = bridgesWithMac();

const REFUSED = '{"error":"Invalid signature"}';
const text = JSON.stringify(GOOD);
const stranger = ed25519Key('stranger');
const legacy = fixedRsaKey();
const large = ((): SigningKey => {
  const privateKey = readFileSync(new URL('fixtures/rsa-4096-for-tests.pem', import.meta.url), 'utf8');
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' });
  return { scheme: 'RSA-SHA256', header: 'X-WH-Signature', publicKey, privateKey };
})();

describe('absent and invalid signatures', () => {
  it('S1 get the same bytes, without a code and without a hint', async () => {
    const bridge = await start();
    const answers = [
      await bridge.post(GOOD, { unsigned: true }),
      await bridge.post(GOOD, { signature: signBody('{}', bridge.crm.key) }),
      await bridge.post(GOOD, { key: stranger }),
      await bridge.post(GOOD, { signature: 'N/A' }),
      await bridge.post(GOOD, { header: 'X-Unheard-Of' }),
    ];
    for (const { status, headers, text: body } of answers) {
      expect(status).toBe(401);
      expect(body).toBe(REFUSED);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('ratelimit-limit')).toBeNull();
    }
    const names = answers.map(({ headers }) => [...headers.keys()].sort().join());
    expect(new Set(names).size).toBe(1);
    expect(await bridge.sent()).toEqual([]);
    const { json } = await bridge.post(GOOD);
    await bridge.journalled(json?.['requestId'], 'written');
    for (const { headers } of answers) {
      const path = `/operator/messages/${headers.get('x-request-id')}`;
      expect(await bridge.operator('GET', path)).toMatchObject({ status: 404 });
    }
  });

  it('S1 get 401, as does every request when there is no key', async () => {
    const bridge = await start({ env: { CRM_PUBLIC_KEY: '' } });
    const id = await bridge.trust(bridge.crm.key);
    expect((await bridge.post(GOOD)).status).toBe(200);
    await bridge.operator('DELETE', `/operator/keys/${id}`);
    expect((await bridge.post(GOOD)).status).toBe(401);
    expect((await bridge.post(GOOD, { unsigned: true })).status).toBe(401);
  });
});

describe('an Ed25519 signature over the raw bytes', () => {
  it.each([
    ['indentation', JSON.stringify(GOOD, null, 4)],
    ['another key order', JSON.stringify(Object.fromEntries(Object.entries(GOOD).toReversed()))],
    ['escapes', text.replace('Hello', String.raw`\u0048\u0065llo \/ \u00e9`)],
    ['white space at both ends', ` \r\n\t${text}\n\n`],
    ['a byte order mark', `\ufeff${text}`],
    ['numbers in unusual notations', text.replace('{', '{"n":1.00e2,')],
    ['a repeated name', text.replace('{', '{"message":"first",')],
    ['non-ASCII letters', text.replace('Hello', 'Hé 👋🏽')],
  ])('S2 is valid for a body with %s', async (_name, body) => {
    const bridge = await start();
    expect((await bridge.post(body)).status).toBe(200);
    expect(await bridge.sent()).toHaveLength(1);
  });

  it.each([
    ['a re-serialisation', JSON.stringify(GOOD, null, 2), text],
    ['an added space', `${text} `, text],
    ['a removed byte order mark', text, `\ufeff${text}`],
    ['a decoded escape', text, text.replace('Hello', String.raw`\u0048ello`)],
  ])('S2 is invalid after a change of the body: %s', async (_name, sent, signed) => {
    const bridge = await start();
    const signature = signBody(signed, bridge.crm.key);
    expect((await bridge.post(sent, { signature })).status).toBe(401);
  });

  interface Vectors {
    publicKeyPem: string;
    vectors: { name: string; bodyBase64: string; signature: string }[];
  }
  const { publicKeyPem, vectors } = JSON.parse(
    readFileSync(new URL('fixtures/signature-vectors.json', import.meta.url), 'utf8'),
  ) as Vectors;
  it.each(vectors)('S2 is valid for the vector $name', async ({ bodyBase64, signature }) => {
    const bridge = await start();
    await bridge.trust({ ...ed25519Key('v'), publicKey: publicKeyPem });
    const body = Buffer.from(bodyBase64, 'base64');
    expect((await bridge.post(body, { signature })).status).not.toBe(401);
    for (const other of vectors.filter((vector) => vector.signature !== signature))
      expect((await bridge.post(body, { signature: other.signature })).status).toBe(401);
  });

  it('S2 is invalid after any flipped bit of the body or the signature', async () => {
    const bridge = await start();
    const body = Buffer.from(text);
    const signature = Buffer.from(signBody(body, bridge.crm.key), 'base64');
    const flip = (bytes: Buffer, bit: number) => {
      const copy = Buffer.from(bytes);
      copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return copy;
    };
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: (body.length + 64) * 8 - 1 }), async (bit) => {
        const inBody = bit < body.length * 8;
        const sent = inBody ? flip(body, bit) : body;
        const shown = inBody ? signature : flip(signature, bit - body.length * 8);
        const { status, text: answer } = await bridge.post(sent, { signature: shown.toString('base64') });
        // A flip may break the JSON, which is reported before the signature is checked (W14).
        expect([400, 401]).toContain(status);
        if (status === 400) expect(answer).toContain('<html');
      }),
      { numRuns: 400 },
    );
    expect(await bridge.sent()).toEqual([]);
  });
});

describe('the legacy header', () => {
  it('S3 is used with RSA-SHA256 when the current header is absent', async () => {
    const bridge = await start();
    await bridge.trust(legacy);
    expect((await bridge.post(GOOD, { key: legacy })).status).toBe(200);
    expect((await bridge.post(`${text} `, { key: legacy, signature: signBody(text, legacy) })).status).toBe(
      401,
    );
    expect((await bridge.post(` ${text}`, { key: legacy })).status).toBe(200);
  });

  it('S3 accepts a key of 4096 bits and one of 2048 bits', async () => {
    const bridge = await start();
    await bridge.trust(legacy);
    await bridge.trust(large);
    expect((await bridge.post(GOOD, { key: large })).status).toBe(200);
    expect((await bridge.post(GOOD, { key: legacy })).status).toBe(200);
  });

  it('S4 is ignored when the current header is present', async () => {
    const bridge = await start();
    await bridge.trust(legacy);
    const both = (current: string, old: string) =>
      bridge.post(GOOD, { signature: current, headers: { 'X-WH-Signature': old } });
    const good = signBody(text, bridge.crm.key);
    const goodOld = signBody(text, legacy);
    expect((await both('bad', goodOld)).status).toBe(401);
    expect((await both(signBody('{}', bridge.crm.key), goodOld)).status).toBe(401);
    expect((await both('', goodOld)).status).toBe(401);
    expect((await both('N/A', goodOld)).status).toBe(401);
    expect((await both(good, 'bad')).status).toBe(200);
    expect((await both(good, goodOld)).status).toBe(200);
  });

  it('S4 is ignored even when no key is registered for the current header', async () => {
    const bridge = await start({ env: { CRM_PUBLIC_KEY: '' } });
    await bridge.trust(legacy);
    expect((await bridge.post(GOOD, { key: legacy })).status).toBe(200);
    const both = { key: legacy, headers: { 'X-CRM-Signature': 'x' } };
    expect((await bridge.post(GOOD, both)).status).toBe(401);
  });

  it('S4 is ignored when another registered header is present', async () => {
    const bridge = await start();
    const own = { ...ed25519Key('own'), header: 'X-Acme-Signature' };
    await bridge.trust(legacy);
    await bridge.trust(own);
    const old = { 'X-WH-Signature': signBody(text, legacy) };
    expect((await bridge.post(GOOD, { key: own, headers: old })).status).toBe(200);
    expect((await bridge.post(GOOD, { key: own, signature: 'bad', headers: old })).status).toBe(401);
    const first = { 'X-CRM-Signature': 'bad' };
    expect((await bridge.post(GOOD, { key: own, headers: first })).status).toBe(401);
  });
});

describe('the allowlist', () => {
  const acme: SigningKey = { ...ed25519Key('acme'), header: 'X-Acme-Signature' };

  it('S5 accepts a key only in its own header', async () => {
    const bridge = await start();
    await bridge.trust(acme);
    expect((await bridge.post(GOOD, { key: acme })).status).toBe(200);
    expect((await bridge.post(GOOD, { key: acme, header: 'x-acme-SIGNATURE' })).status).toBe(200);
    expect((await bridge.post(GOOD, { key: acme, header: 'X-CRM-Signature' })).status).toBe(401);
    expect((await bridge.post(GOOD, { header: 'X-Acme-Signature' })).status).toBe(401);
  });

  it('S5 accepts a key only with its own scheme, whatever other keys share its header', async () => {
    const bridge = await start();
    const shared = { ...legacy, header: 'X-CRM-Signature' };
    await bridge.trust(shared);
    expect((await bridge.post(GOOD)).status).toBe(200);
    expect((await bridge.post(GOOD, { key: shared })).status).toBe(200);
  });

  it('S5 accepts all keys that share a header, so that keys can be rotated', async () => {
    const bridge = await start();
    const next = ed25519Key('next');
    await bridge.trust(next);
    for (const key of [bridge.crm.key, next, bridge.crm.key, next])
      expect((await bridge.post(GOOD, { key })).status).toBe(200);
    expect((await bridge.post(GOOD, { key: stranger })).status).toBe(401);
  });

  it('S5 rejects an unknown key, even among fifty others', async () => {
    const bridge = await start();
    const keys = Array.from({ length: 50 }, (_, n) => ed25519Key(`crm ${n}`));
    for (const key of keys) await bridge.trust(key);
    expect((await bridge.post(GOOD, { key: stranger })).status).toBe(401);
    for (const key of keys.slice(-3)) expect((await bridge.post(GOOD, { key })).status).toBe(200);
  });

  it('S6 applies disabled, enabled and removed keys without a restart', async () => {
    const bridge = await start();
    const id = await bridge.trust(acme);
    const ask = async () => (await bridge.post(GOOD, { key: acme })).status;
    expect(await ask()).toBe(200);
    await bridge.operator('PATCH', `/operator/keys/${id}`, { enabled: false });
    expect(await ask()).toBe(401);
    await bridge.operator('PATCH', `/operator/keys/${id}`, { enabled: true });
    expect(await ask()).toBe(200);
    await bridge.operator('DELETE', `/operator/keys/${id}`);
    expect(await ask()).toBe(401);
  });

  it('S7 rejects a key for a location outside its list', async () => {
    const bridge = await start();
    await bridge.mac(OTHER_LOCATION);
    await bridge.trust(acme, { locations: [LOCATION] });
    const post = (body: unknown) => bridge.post(body, { key: acme });
    expect((await post(GOOD)).status).toBe(200);
    const foreign = await post({ ...GOOD, locationId: OTHER_LOCATION });
    expect([foreign.status, foreign.text]).toEqual([401, REFUSED]);
    expect((await post({ ...GOOD, locationId: LOCATION.toLowerCase() })).status).toBe(401);
    // The request is routed by the last of repeated names, so that one must be checked.
    expect((await post(text.replace('{', `{"locationId":"${OTHER_LOCATION}",`))).status).toBe(200);
    expect((await post(text.replace('}', `,"locationId":"${OTHER_LOCATION}"}`))).status).toBe(401);
    expect(await bridge.sent()).toHaveLength(2);
  });

  it('S7 accepts a limited key for a request without a location, which is then rejected as incomplete', async () => {
    const bridge = await start();
    await bridge.trust(acme, { locations: [LOCATION] });
    const answer = await bridge.post({ ...GOOD, locationId: 5 }, { key: acme });
    expect(answer.json).toMatchObject({ code: 'MISSING_REQUIRED_FIELDS', required: ['locationId'] });
  });

  it.each(PRESET_NAMES)('S5 accepts the preset %s', async (name) => {
    const bridge = await start({});
    expect(await bridge.operator('POST', '/operator/keys', { preset: name })).toMatchObject({
      status: 201,
      body: { label: presetKey(name).label, header: presetKey(name).header },
    });
  });
});

describe('strict base64', () => {
  const spellings: [string, (good: string) => string][] = [
    ['the URL-safe alphabet', (good) => good.replaceAll('+', '-').replaceAll('/', '_')],
    ['no padding', (good) => good.replace(/=+$/, '')],
    ['half the padding', (good) => good.slice(0, -1)],
    ['more padding', (good) => `${good}=`],
    ['a space in the middle', (good) => `${good.slice(0, 10)} ${good.slice(10)}`],
    ['trailing bytes', (good) => `${good}AAAA`],
    ['an extra letter', (good) => `${good}A`],
    ['two values', (good) => `${good}, ${good}`],
    ['two values, the first empty', (good) => `, ${good}`],
    ['unused bits set', (good) => good.replace(/.==$/, (end) => `${nextLetter(end[0] ?? 'A')}==`)],
    ['an invalid character', (good) => `${good.slice(0, 10)}*${good.slice(10)}`],
    ['quotes', (good) => `"${good}"`],
    ['a prefix', (good) => `ed25519=${good}`],
    ['hex', (good) => Buffer.from(good, 'base64').toString('hex')],
    ['a truncated signature', (good) => good.slice(0, 84)],
    ['N/A', () => 'N/A'],
    ['an empty value', () => ''],
    ['a signature of zeros', () => Buffer.alloc(64).toString('base64')],
    ['a signature of one letter', () => 'A'.repeat(88)],
    ['a value of 12 KB', () => 'A'.repeat(12_000)],
  ];
  const nextLetter = (letter: string) => String.fromCharCode(letter.charCodeAt(0) + 1);

  it('S8 accepts the canonical encoding', async () => {
    const bridge = await start();
    expect((await bridge.post(text, { signature: awkward(bridge.crm.key) })).status).toBe(401);
    expect((await bridge.post(bodyOf(bridge.crm.key))).status).toBe(200);
  });

  it.each(spellings)('S8 rejects %s', async (_name, spell) => {
    const bridge = await start();
    await bridge.trust(legacy);
    for (const key of [bridge.crm.key, legacy]) {
      const body = bodyOf(key);
      const good = signBody(body, key);
      const signature = spell(good);
      if (signature === good) throw new Error('the encoding is the canonical one');
      const { status, text: answer } = await bridge.post(body, { key, signature });
      expect([status, answer]).toEqual([401, REFUSED]);
    }
    expect(await bridge.sent()).toEqual([]);
  });

  /** Returns a body whose signature has characters that differ in the URL-safe alphabet. */
  function bodyOf(key: SigningKey): string {
    for (let n = 0; ; n++) {
      const body = text.replace('Hello', `Hello ${n}`);
      const signature = signBody(body, key);
      if (signature.includes('+') && signature.includes('/')) return body;
    }
  }
  const awkward = (key: SigningKey) => signBody(bodyOf(key), key);

  it.each([
    ['the same value twice', (good: string) => [good, good]],
    ['a valid and an invalid one', (good: string) => [good, 'bad']],
    ['an invalid and a valid one', (good: string) => ['bad', good]],
    ['an empty and a valid one', (good: string) => ['', good]],
  ])('S8 rejects a repeated header: %s', async (_name, values) => {
    const bridge = await start();
    const lines = values(signBody(text, bridge.crm.key)).map((value) => `X-CRM-Signature: ${value}\r\n`);
    const answer = await bridge.raw(
      `POST /crm/webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n${lines.join('')}Content-Length: ${text.length}\r\n\r\n${text}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(await bridge.sent()).toEqual([]);
  });

  it('S8 responds with no 5xx to any header value', async () => {
    const bridge = await start();
    await bridge.trust(legacy);
    const value = fc.string({
      unit: fc.constantFrom('A', 'z', '0', '+', '/', '=', '-', '_', ' ', ',', '"', 'N'),
      maxLength: 400,
    });
    await fc.assert(
      fc.asyncProperty(
        value,
        fc.constantFrom('X-CRM-Signature', 'X-WH-Signature'),
        async (signature, header) => {
          expect((await bridge.post(GOOD, { header, signature })).status).toBe(401);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('the official SDK', () => {
  interface Sdk {
    HighLevel: new (config: object) => {
      webhooks: {
        verifyEd25519Signature(payload: Buffer | string, signature: string, key: string): boolean;
        verifySignature(payload: string, signature: string, key: string): boolean;
      };
    };
  }
  const { HighLevel } = createRequire(import.meta.url)('@gohighlevel/api-client') as Sdk;
  const { webhooks } = new HighLevel({ privateIntegrationToken: 'unused' });

  it('S2 agrees with the service on which Ed25519 signatures are valid', async () => {
    const bridge = await start();
    const bodies = [text, ` ${text}`, text.replace('Hello', 'Hé 👋🏽'), JSON.stringify(GOOD, null, 2)];
    for (const signed of bodies)
      for (const sent of bodies) {
        const signature = signBody(signed, bridge.crm.key);
        const theirs = webhooks.verifyEd25519Signature(
          Buffer.from(sent),
          signature,
          bridge.crm.key.publicKey,
        );
        const ours = (await bridge.post(sent, { signature })).status !== 401;
        expect(ours).toBe(theirs);
        expect(ours).toBe(sent === signed);
      }
    expect(webhooks.verifyEd25519Signature(text, 'N/A', bridge.crm.key.publicKey)).toBe(false);
  });

  it('S3 agrees with the service on which RSA signatures are valid', async () => {
    const bridge = await start();
    await bridge.trust(legacy);
    for (const sent of [text, `${text} `]) {
      const signature = signBody(text, legacy);
      const theirs = webhooks.verifySignature(sent, signature, legacy.publicKey);
      expect((await bridge.post(sent, { key: legacy, signature })).status !== 401).toBe(theirs);
    }
  });
});

describe('a flood of invalid signatures', () => {
  it('S1 always gets 401, and signed requests from the same address are still accepted', async () => {
    const bridge = await start({ env: { RATE_LIMIT_UNSIGNED: '5' } });
    const next = ed25519Key('next');
    await bridge.trust(next);
    const flood = Array.from({ length: 60 }, () => bridge.post(GOOD, { key: stranger }));
    const good = await bridge.post({ ...GOOD, locationId: LOCATION }, { key: next });
    expect(good.status).toBe(200);
    for (const { status } of await Promise.all(flood)) expect(status).toBe(401);
    expect((await bridge.post(GOOD, { key: next })).status).toBe(200);
    expect((await bridge.post(GOOD)).status).toBe(200);
  });
});
