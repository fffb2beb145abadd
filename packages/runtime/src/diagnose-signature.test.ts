import { ed25519Key, fixedRsaKey, signBody } from '@footbridge/testkit/keys';
import { describe, expect, it } from 'vitest';

import { diagnoseSignature } from './diagnose-signature.ts';

const key = ed25519Key('diagnose');
const acme = { label: 'Acme', scheme: 'Ed25519', publicKey: key.publicKey };
const old = { label: 'Old', scheme: 'RSA-SHA256', publicKey: fixedRsaKey().publicKey };
const known = [acme, old];
const value = { locationId: 'loc1', message: 'Hé / 1', n: [1, { z: 1, a: 2 }] };
const text = JSON.stringify(value);
const diagnose = (sent: string, signature: string) => diagnoseSignature(Buffer.from(sent), signature, known);

describe('a valid signature', () => {
  it('S2 is reported with the key that verifies it', () => {
    expect(diagnose(text, signBody(text, key))).toMatchObject({
      ok: true,
      step: 'verified',
      key: 'Acme',
      signatureBytes: 64,
    });
    expect(diagnose(text, signBody(text, fixedRsaKey()))).toMatchObject({
      ok: true,
      key: 'Old',
      signatureBytes: 256,
    });
  });
});

describe('a valid signature that the service rejects', () => {
  const signature = signBody(text, key);
  const diagnoseWith = (more: object) =>
    diagnoseSignature(Buffer.from(text), signature, [{ ...acme, ...more }, old]);

  it('S6 fails when its key is disabled', () => {
    expect(diagnoseWith({ enabled: false })).toMatchObject({
      ok: false,
      step: 'enabled',
      key: 'Acme',
      reason: 'the signature is right, but its key is disabled',
      hint: expect.stringContaining('keys enable'),
    });
    expect(diagnoseWith({ enabled: true })).toMatchObject({ ok: true });
  });

  it('S7 fails when its key is limited to other locations', () => {
    expect(diagnoseWith({ locations: ['loc2'] })).toMatchObject({ ok: false, step: 'location', key: 'Acme' });
    expect(diagnoseWith({ locations: ['loc1'] })).toMatchObject({ ok: true });
    expect(diagnoseWith({ locations: null })).toMatchObject({ ok: true });
  });

  it('S6 passes when the same key is registered a second time and enabled', () => {
    const keys = [
      { ...acme, enabled: false },
      { ...acme, label: 'Acme, again' },
    ];
    expect(diagnoseSignature(Buffer.from(text), signature, keys)).toMatchObject({
      ok: true,
      key: 'Acme, again',
    });
  });
});

describe('an invalid signature', () => {
  const good = signBody(text, key);
  it.each([
    ['', 'header', /is empty/],
    ['N/A', 'header', /did not sign/],
    [good.replace(/=+$/, ''), 'base64', /padding/],
    [`-_${good.slice(2)}`, 'base64', /URL-safe/],
    [`${good.slice(0, 40)} ${good.slice(40)}`, 'base64', /white space/],
    [`${good},${good}`, 'base64', /several values/],
    [Buffer.from(good, 'base64').toString('hex').slice(0, 127), 'base64', /hex/],
    [`*${good.slice(1)}`, 'base64', /characters that are not base64/],
    [Buffer.alloc(32).toString('base64'), 'length', /64 or 256 bytes/],
    [signBody(text, ed25519Key('unregistered')), 'key', /not registered/],
    [signBody('another body', key), 'key', /compare its SHA-256/],
  ])('S8 %j fails at the step %s', (signature, step, hint) => {
    const diagnosis = diagnose(text, signature);
    expect(diagnosis).toMatchObject({ ok: false, step });
    expect(`${diagnosis.reason} ${diagnosis.hint}`).toMatch(hint);
  });

  it('S5 fails at the length if no key is given', () => {
    expect(diagnoseSignature(Buffer.from(text), good, [])).toMatchObject({
      step: 'length',
      hint: 'no key was given',
    });
  });
});

describe('a body changed after signing', () => {
  const cases: [string, string, string, RegExp][] = [
    ['an added line break', `${text}\n`, text, /without its trailing line break/],
    ['a removed line break', text, `${text}\n`, /with a trailing line break/],
    ['LF replaced by CRLF', '{\r\n"a":1}', '{\n"a":1}', /LF instead of CRLF/],
    ['CRLF replaced by LF', '{\n"a":1}', '{\r\n"a":1}', /CRLF instead of LF/],
    ['an added byte order mark', `\ufeff${text}`, text, /byte order mark|white space/],
    ['re-serialised JSON', JSON.stringify(value, null, 2), text, /compact form.*re-serialised/],
    ['a removed indent of two', text, JSON.stringify(value, null, 2), /indent of two/],
    ['a removed indent of four', text, JSON.stringify(value, null, 4), /indent of four/],
    [
      'JSON signed in the form of Python',
      text,
      '{"locationId": "loc1", "message": "H\\u00e9 / 1", "n": [1, {"z": 1, "a": 2}]}',
      /as Python writes it/,
    ],
    [
      'JSON signed in the form of PHP',
      text,
      text.replace('/', '\\/').replace('é', '\\u00e9'),
      /as PHP writes it/,
    ],
    ['reordered keys', '{"b":1,"a":2}', '{"a":2,"b":1}', /sorted keys/],
  ];
  it.each(cases)('S2 is recognised: %s', (_name, sent, signed, hint) => {
    const diagnosis = diagnose(sent, signBody(signed, key));
    expect(diagnosis).toMatchObject({ ok: false, step: 'body', key: 'Acme' });
    expect(diagnosis.hint).toMatch(hint);
  });

  it('is reported as an unknown key if the body is not JSON', () => {
    expect(diagnose('not json', signBody('x', key))).toMatchObject({ step: 'key' });
  });
});
