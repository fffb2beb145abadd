import { generateKeyPairSync } from 'node:crypto';

import { ed25519Key, fixedRsaKey, rsaKey } from '@footbridge/testkit/keys';
import { describe, expect, it } from 'vitest';

import { checkKey } from './check-key.ts';
import type { KeyInput } from './keys.ts';

const ed25519 = ed25519Key('check').publicKey;
const rsa = fixedRsaKey().publicKey;
const offer = (more: Partial<KeyInput>): KeyInput => ({
  label: 'CRM',
  scheme: 'Ed25519',
  header: 'X-CRM-Signature',
  publicKey: ed25519,
  ...more,
});
const pem = (type: 'ec' | 'ed448' | 'rsa-pss' | 'dsa', options: object) =>
  generateKeyPairSync(type as 'ec', options as { namedCurve: string }).publicKey.export({
    type: 'spki',
    format: 'pem',
  });
const spki = (hex: string) =>
  `-----BEGIN PUBLIC KEY-----\n${Buffer.from(`302a300506032b6570032100${hex}`, 'hex').toString('base64')}\n-----END PUBLIC KEY-----\n`;

describe('checkKey accepts', () => {
  it.each([
    ['Ed25519', offer({})],
    ['RSA 2048', offer({ scheme: 'RSA-SHA256', publicKey: rsa })],
    [
      'RSA under the current header',
      offer({ scheme: 'RSA-SHA256', publicKey: rsa, header: 'X-CRM-Signature' }),
    ],
    ['Ed25519 under the legacy header', offer({ header: 'x-wh-signature' })],
    ['space around the PEM', offer({ publicKey: `\r\n  ${ed25519}\r\n` })],
  ])('S5 %s', (_name, input) => {
    expect(checkKey(input)).toMatchObject({ ok: true });
  });
});

describe('checkKey rejects', () => {
  const cases: [string, Partial<KeyInput>, string, RegExp][] = [
    ['an RSA key declared as Ed25519', { publicKey: rsa }, 'publicKey', /of type rsa.*needs an Ed25519 key/],
    [
      'an Ed25519 key declared as RSA',
      { scheme: 'RSA-SHA256' },
      'publicKey',
      /of type ed25519.*needs an RSA key/,
    ],
    ['an EC key', { publicKey: pem('ec', { namedCurve: 'P-256' }) }, 'publicKey', /of type ec/],
    ['an Ed448 key', { publicKey: pem('ed448', {}) }, 'publicKey', /of type ed448/],
    [
      'an RSA-PSS key',
      { scheme: 'RSA-SHA256', publicKey: pem('rsa-pss', { modulusLength: 2048 }) },
      'publicKey',
      /of type rsa-pss/,
    ],
    [
      'a short RSA key',
      { scheme: 'RSA-SHA256', publicKey: rsaKey(1024).publicKey },
      'publicKey',
      /1024 bits.*2048/,
    ],
    [
      'an RSA key with exponent 3',
      {
        scheme: 'RSA-SHA256',
        publicKey: generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }).publicKey.export({
          type: 'spki',
          format: 'pem',
        }),
      },
      'publicKey',
      /exponent 3/,
    ],
    ['a private key', { publicKey: ed25519Key('check').privateKey }, 'publicKey', /private key.*leaked/],
    [
      'an RSA private key',
      { scheme: 'RSA-SHA256', publicKey: fixedRsaKey().privateKey },
      'publicKey',
      /private/,
    ],
    [
      'a public key followed by a private one',
      { publicKey: ed25519 + fixedRsaKey().privateKey },
      'publicKey',
      /private/,
    ],
    ['two keys in one', { publicKey: ed25519 + ed25519 }, 'publicKey', /not one PEM block/],
    [
      'a certificate',
      { publicKey: '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----' },
      'publicKey',
      /certificate/,
    ],
    ['bare base64', { publicKey: 'MCowBQYDK2VwAyEA' }, 'publicKey', /not one PEM block/],
    [
      'a PEM with a missing letter',
      { publicKey: ed25519.replace('MCow', 'MCo') },
      'publicKey',
      /cannot be parsed/,
    ],
    ['an empty key', { publicKey: '' }, 'publicKey', /not one PEM block/],
    [
      'an oversized key',
      { publicKey: `-----BEGIN PUBLIC KEY-----\n${'A'.repeat(20_000)}` },
      'publicKey',
      /not one PEM/,
    ],
    ['the point of order one', { publicKey: spki(`01${'00'.repeat(31)}`) }, 'publicKey', /weak/],
    [
      'a point of order eight',
      { publicKey: spki('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a') },
      'publicKey',
      /weak/,
    ],
    ['a non-canonical encoding', { publicKey: spki(`ee${'ff'.repeat(30)}7f`) }, 'publicKey', /weak/],
    ['bytes that are not a point', { publicKey: spki(`02${'00'.repeat(31)}`) }, 'publicKey', /weak/],
    ['another scheme', { scheme: 'HMAC' }, 'scheme', /Ed25519 or RSA-SHA256/],
    ['a scheme in lower case', { scheme: 'ed25519' }, 'scheme', /Ed25519 or RSA-SHA256/],
    ['a blank label', { label: ' ' }, 'label', /1 to 100/],
    ['a label with a line break', { label: 'a\nb' }, 'label', /printable/],
    ['no locations at all', { locations: [] }, 'locations', /leave it out/],
    ['a blank location', { locations: ['a', ' '] }, 'locations', /location ids/],
  ];
  it.each(cases)('S6 %s', (_name, more, field, reason) => {
    const checked = checkKey(offer(more));
    expect(checked).toMatchObject({ ok: false, problem: { field } });
    if (checked.ok) return;
    expect(checked.problem.reason).toMatch(reason);
    expect(checked.problem.reason).not.toMatch(/MC4C|MIIE|BEGIN PUBLIC KEY-----\n/);
  });

  const names = [
    'Host',
    'content-length',
    'Authorization',
    'X-Forwarded-For',
    'Transfer-Encoding',
    'Cookie',
    'constructor',
  ];
  it.each([...names, '', 'X Signature', 'X-Sig:', 'X-Sïg', '__proto__', '1-Sig', 'X'.repeat(65), 'X-Sig\n'])(
    'S6 the header name %j',
    (header) => {
      expect(checkKey(offer({ header }))).toMatchObject({ ok: false, problem: { field: 'header' } });
    },
  );
});
