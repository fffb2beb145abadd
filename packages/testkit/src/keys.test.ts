import { createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ed25519Key, fixedRsaKey, rsaKey, signBody, signedRequest } from './keys.ts';

const RFC_8032_SECRET = Buffer.from(
  '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
  'hex',
);

interface Vectors {
  publicKeyPem: string;
  vectors: { name: string; bodyBase64: string; signature: string }[];
}

const published: Vectors = JSON.parse(
  readFileSync(new URL('../fixtures/signature-vectors.json', import.meta.url), 'utf8'),
);

describe('keys', () => {
  it('are the same for the same seed', () => {
    expect(ed25519Key('tenant a')).toEqual(ed25519Key('tenant a'));
    expect(ed25519Key('tenant a').publicKey).not.toBe(ed25519Key('tenant b').publicKey);
  });

  it('are random without a seed', () => {
    expect(ed25519Key().publicKey).not.toBe(ed25519Key().publicKey);
    expect(rsaKey().publicKey).not.toBe(fixedRsaKey().publicKey);
  });

  it('can be RSA keys of a given size', () => {
    expect(createPublicKey(rsaKey(1024).publicKey).asymmetricKeyDetails?.modulusLength).toBe(1024);
    expect(createPublicKey(fixedRsaKey().publicKey).asymmetricKeyDetails?.modulusLength).toBe(2048);
  });

  it.each(published.vectors)('sign the vector $name as published', ({ bodyBase64, signature }) => {
    const key = ed25519Key(RFC_8032_SECRET);
    expect(key.publicKey).toBe(published.publicKeyPem);
    expect(signBody(Buffer.from(bodyBase64, 'base64'), key)).toBe(signature);
  });
});

describe('signed requests', () => {
  it.each([
    { key: ed25519Key('x'), header: 'X-CRM-Signature', digest: null, length: 88 },
    { key: fixedRsaKey(), header: 'X-WH-Signature', digest: 'sha256', length: 344 },
  ])('have a $key.scheme signature over the bytes sent', ({ key, header, digest, length }) => {
    const request = signedRequest('{ "a" : 1.00 }\n', key);
    const signature = request.headers[header] ?? '';
    expect(request.body.toString()).toBe('{ "a" : 1.00 }\n');
    expect(signature).toHaveLength(length);
    expect(verify(digest, request.body, key.publicKey, Buffer.from(signature, 'base64'))).toBe(true);
    expect(verify(digest, Buffer.from('{"a":1}'), key.publicKey, Buffer.from(signature, 'base64'))).toBe(
      false,
    );
  });

  it('serialise objects as compact JSON and accept any header name or forged signature', () => {
    const request = signedRequest({ a: [1, 2] }, ed25519Key('x'), {
      header: 'X-GHL-Signature',
      signature: 'N/A',
      headers: { 'Content-Type': 'text/plain' },
    });
    expect(request.body.toString()).toBe('{"a":[1,2]}');
    expect(request.headers).toEqual({ 'Content-Type': 'text/plain', 'X-GHL-Signature': 'N/A' });
  });
});
