import { ed25519Key, fixedRsaKey, signBody } from '@footbridge/testkit/keys';
import { describe, expect, it } from 'vitest';

import { diagnoseSignature } from './diagnose-signature.ts';

const key = ed25519Key('diagnose');
const known = [
  { label: 'Acme', scheme: 'Ed25519', publicKey: key.publicKey },
  { label: 'Old', scheme: 'RSA-SHA256', publicKey: fixedRsaKey().publicKey },
];
const value = { locationId: 'loc1', message: 'Hé / 1', n: [1, { z: 1, a: 2 }] };
const text = JSON.stringify(value);
const diagnose = (sent: string, signature: string) => diagnoseSignature(Buffer.from(sent), signature, known);

describe('a good signature', () => {
  it('S2 names the key that made it', () => {
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

describe('a bad one stops at a step', () => {
  const good = signBody(text, key);
  it.each([
    ['', 'header', /no signature/],
    ['N/A', 'header', /did not sign/],
    [good.replace(/=+$/, ''), 'base64', /padding/],
    [`-_${good.slice(2)}`, 'base64', /URL-safe/],
    [`${good.slice(0, 40)} ${good.slice(40)}`, 'base64', /white space/],
    [`${good},${good}`, 'base64', /several values/],
    [Buffer.from(good, 'base64').toString('hex').slice(0, 127), 'base64', /hex/],
    [`*${good.slice(1)}`, 'base64', /letters that are not base64/],
    [Buffer.alloc(32).toString('base64'), 'length', /64 or 256 bytes/],
    [signBody(text, ed25519Key('nobody')), 'key', /not registered/],
    [signBody('something else', key), 'key', /compare its SHA-256/],
  ])('S8 %j fails at %s', (signature, step, hint) => {
    const diagnosis = diagnose(text, signature);
    expect(diagnosis).toMatchObject({ ok: false, step });
    expect(`${diagnosis.reason} ${diagnosis.hint}`).toMatch(hint);
  });

  it('S5 without keys nothing fits', () => {
    expect(diagnoseSignature(Buffer.from(text), good, [])).toMatchObject({
      step: 'length',
      hint: 'no key was given',
    });
  });
});

describe('a body that changed on the way', () => {
  const cases: [string, string, string, RegExp][] = [
    ['a line break was added', `${text}\n`, text, /without the line break/],
    ['a line break was lost', text, `${text}\n`, /with a line break/],
    ['LF became CRLF', '{\r\n"a":1}', '{\n"a":1}', /CRLF turned into LF/],
    ['CRLF became LF', '{\n"a":1}', '{\r\n"a":1}', /LF turned into CRLF/],
    ['a byte order mark was added', `\ufeff${text}`, text, /byte order mark|white space/],
    ['it was written out again', JSON.stringify(value, null, 2), text, /compactly.*re-serialised/],
    ['it was compacted', text, JSON.stringify(value, null, 2), /indent of two/],
    ['it was compacted from four', text, JSON.stringify(value, null, 4), /indent of four/],
    [
      'Python signed it',
      text,
      '{"locationId": "loc1", "message": "H\\u00e9 / 1", "n": [1, {"z": 1, "a": 2}]}',
      /as Python writes it/,
    ],
    ['PHP signed it', text, text.replace('/', '\\/').replace('é', '\\u00e9'), /as PHP writes it/],
    ['it was sorted', '{"b":1,"a":2}', '{"a":2,"b":1}', /sorted/],
  ];
  it.each(cases)('S2 %s', (_name, sent, signed, hint) => {
    const diagnosis = diagnose(sent, signBody(signed, key));
    expect(diagnosis).toMatchObject({ ok: false, step: 'body', key: 'Acme' });
    expect(diagnosis.hint).toMatch(hint);
  });

  it('a body that is no JSON is not guessed at for long', () => {
    expect(diagnose('not json', signBody('x', key))).toMatchObject({ step: 'key' });
  });
});
