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
  it('the scheme follows from the key', async () => {
    expect(await importPrivateKey(seed.privateKeyPem)).toMatchObject({
      scheme: 'Ed25519',
    });
    expect(await importPublicKey(rsa.key.publicKeyPem)).toMatchObject({ scheme: 'RSA-SHA256' });
  });

  it('a PEM that came through an environment variable is read', async () => {
    for (const mangled of [
      seed.publicKeyPem.replaceAll('\n', String.raw`\n`),
      seed.publicKeyPem.replaceAll('\n', '\r\n'),
      `  ${seed.publicKeyPem}\n\n`,
    ]) {
      expect(await importPublicKey(mangled)).toMatchObject({ scheme: 'Ed25519' });
    }
  });

  it.each([
    ['nothing', '', 'must start with -----BEGIN PRIVATE KEY-----'],
    ['a public key', seed.publicKeyPem, 'It is a public key; a private key is needed'],
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
    ['a damaged key', seed.privateKeyPem.replace('MC4C', 'MC*C'), 'damaged'],
    ['a key without its end', seed.privateKeyPem.slice(0, -10), 'damaged'],
    [
      'a key cut short inside',
      '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAAB\n-----END PRIVATE KEY-----',
      'copied completely',
    ],
    ['another kind of key', elliptic.privateKey.export(pkcs8), 'neither Ed25519 nor RSA'],
    ['a short RSA key', smallRsa.privateKey.export(pkcs8), 'at least 2048 bits'],
  ])('a private key is needed: %s is refused with a hint', async (_, pem, hint) => {
    await expect(importPrivateKey(pem)).rejects.toThrow(hint);
  });

  it.each([
    ['a private key', seed.privateKeyPem, 'never leaves the signer'],
    ['a certificate', '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----', 'It is a certificate'],
    ['a short RSA key', smallRsa.publicKey.export(spki), 'at least 2048 bits'],
  ])('a public key is needed: %s is refused with a hint', async (_, pem, hint) => {
    await expect(importPublicKey(pem)).rejects.toThrow(hint);
  });

  it('no hint repeats the key', async () => {
    const damaged = seed.privateKeyPem.replace('MC4C', 'MC*C');
    const error: unknown = await importPrivateKey(damaged).catch((cause: unknown) => cause);
    expect(String(error)).not.toContain(seed.privateKeyPem.slice(40, 60));
  });
});
