import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import ed25519 from '../vectors/signatures-ed25519.json' with { type: 'json' };
import rsa from '../vectors/signatures-rsa-sha256.json' with { type: 'json' };
import { importPrivateKey, importPublicKey } from './keys.ts';

const seed = ed25519.keys.seed;
const smallRsa = generateKeyPairSync('rsa', { modulusLength: 1024 });
const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pkcs8 = { format: 'pem', type: 'pkcs8' } as const;
const spki = { format: 'pem', type: 'spki' } as const;

describe('keys', () => {
  it('the type of the key determines the scheme', async () => {
    expect(await importPrivateKey(seed.privateKeyPem)).toMatchObject({
      scheme: 'Ed25519',
    });
    expect(await importPublicKey(rsa.key.publicKeyPem)).toMatchObject({ scheme: 'RSA-SHA256' });
  });

  it('accepts a PEM from an environment variable', async () => {
    for (const mangled of [
      seed.publicKeyPem.replaceAll('\n', String.raw`\n`),
      seed.publicKeyPem.replaceAll('\n', '\r\n'),
      `  ${seed.publicKeyPem}\n\n`,
    ]) {
      expect(await importPublicKey(mangled)).toMatchObject({ scheme: 'Ed25519' });
    }
  });

  it.each([
    ['an empty string', '', 'must start with -----BEGIN PRIVATE KEY-----'],
    ['a public key', seed.publicKeyPem, 'It is a public key; a private key is required'],
    [
      'PKCS#1',
      '-----BEGIN RSA PRIVATE KEY-----\nAA==\n-----END RSA PRIVATE KEY-----',
      'openssl pkcs8 -topk8',
    ],
    [
      'an encrypted key',
      '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----',
      'encrypted',
    ],
    ['a corrupt key', seed.privateKeyPem.replace('MC4C', 'MC*C'), 'corrupt'],
    ['a key without its END line', seed.privateKeyPem.slice(0, -10), 'corrupt'],
    [
      'a truncated key',
      '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAAB\n-----END PRIVATE KEY-----',
      'copied completely',
    ],
    ['a key of another type', elliptic.privateKey.export(pkcs8), 'neither Ed25519 nor RSA'],
    ['a short RSA key', smallRsa.privateKey.export(pkcs8), 'at least 2048 bits'],
  ])('importPrivateKey rejects %s with a hint', async (_, pem, hint) => {
    await expect(importPrivateKey(pem)).rejects.toThrow(hint);
  });

  it.each([
    ['a private key', seed.privateKeyPem, 'must stay with the signer'],
    ['a certificate', '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----', 'It is a certificate'],
    ['a short RSA key', smallRsa.publicKey.export(spki), 'at least 2048 bits'],
  ])('importPublicKey rejects %s with a hint', async (_, pem, hint) => {
    await expect(importPublicKey(pem)).rejects.toThrow(hint);
  });

  it('error messages do not contain the key', async () => {
    const corrupt = seed.privateKeyPem.replace('MC4C', 'MC*C');
    const error: unknown = await importPrivateKey(corrupt).catch((cause: unknown) => cause);
    expect(String(error)).not.toContain(seed.privateKeyPem.slice(40, 60));
  });
});
