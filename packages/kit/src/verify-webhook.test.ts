import { describe, expect, it } from 'vitest';
import ed25519 from '../vectors/signatures-ed25519.json' with { type: 'json' };
import rsa from '../vectors/signatures-rsa-sha256.json' with { type: 'json' };
import { importPrivateKey, importPublicKey } from './keys.ts';
import { signWebhook } from './sign-webhook.ts';
import { verifyWebhook, type TrustedKey } from './verify-webhook.ts';

const current: TrustedKey = {
  publicKey: ed25519.keys.seed.publicKeyPem,
  scheme: 'Ed25519',
  label: 'current',
};
const legacy: TrustedKey = { publicKey: rsa.key.publicKeyPem, scheme: 'RSA-SHA256', label: 'legacy' };
const body = '{ "message" : "Hi" }';
const good = (await signWebhook(body, ed25519.keys.seed.privateKeyPem)).headers['X-CRM-Signature'] ?? '';
const goodLegacy = (await signWebhook(body, rsa.key.privateKeyPem)).headers['X-WH-Signature'] ?? '';
const bad = good.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A'));

describe('signing', () => {
  it('gives back the very bytes that were signed', async () => {
    const bytes = new TextEncoder().encode(body);
    const signed = await signWebhook(bytes, await importPrivateKey(ed25519.keys.seed.privateKeyPem));
    expect(signed.body).toEqual(bytes);
    expect(signed.headers).toEqual({ 'Content-Type': 'application/json', 'X-CRM-Signature': good });
  });

  it('puts the signature under the header that the operator registered', async () => {
    const signed = await signWebhook(body, ed25519.keys.seed.privateKeyPem, { header: 'X-Acme-Signature' });
    const key = { ...current, header: 'x-acme-signature' };
    expect(await verifyWebhook(signed.body, signed.headers, [key])).toEqual({ ok: true, key });
    expect((await verifyWebhook(signed.body, signed.headers, [current])).ok).toBe(false);
  });
});

describe('verifying', () => {
  it('a request without a signature is refused', async () => {
    expect(await verifyWebhook(body, {}, [current, legacy])).toMatchObject({ ok: false });
    expect(await verifyWebhook(body, { 'x-crm-signature': undefined }, [current])).toMatchObject({
      ok: false,
    });
    expect(await verifyWebhook(body, { 'X-CRM-Signature': good }, [])).toMatchObject({ ok: false });
  });

  it('headers are read as Node, fetch and frameworks give them', async () => {
    for (const headers of [
      { 'x-crm-signature': good },
      { 'X-CRM-SIGNATURE': [good] },
      new Headers({ 'X-CRM-Signature': good }),
    ]) {
      expect(await verifyWebhook(body, headers, [current])).toEqual({ ok: true, key: current });
    }
  });

  it('the current header is the only one that counts when it is there', async () => {
    const verify = (headers: Record<string, string>) => verifyWebhook(body, headers, [legacy, current]);
    expect(await verify({ 'X-CRM-Signature': bad, 'X-WH-Signature': goodLegacy })).toMatchObject({
      ok: false,
    });
    expect(await verify({ 'X-CRM-Signature': '', 'X-WH-Signature': goodLegacy })).toMatchObject({
      ok: false,
    });
    expect(await verify({ 'X-CRM-Signature': good, 'X-WH-Signature': 'N/A' })).toEqual({
      ok: true,
      key: current,
    });
    expect(await verify({ 'X-WH-Signature': goodLegacy })).toEqual({ ok: true, key: legacy });
  });

  it('the current header counts even when no key is trusted under it', async () => {
    const headers = { 'X-CRM-Signature': good, 'X-WH-Signature': goodLegacy };
    expect(await verifyWebhook(body, headers, [legacy])).toMatchObject({ ok: false });
  });

  it('any other header comes before the legacy one as well', async () => {
    const custom = { ...current, header: 'X-Acme-Signature' };
    const headers = { 'X-WH-Signature': goodLegacy, 'X-Acme-Signature': bad };
    expect(await verifyWebhook(body, headers, [legacy, custom])).toMatchObject({ ok: false });
    expect(await verifyWebhook(body, { ...headers, 'X-Acme-Signature': good }, [legacy, custom])).toEqual({
      ok: true,
      key: custom,
    });
  });

  it('a key verifies only under its own header', async () => {
    expect(await verifyWebhook(body, { 'X-WH-Signature': good }, [current, legacy])).toMatchObject({
      ok: false,
    });
    expect(await verifyWebhook(body, { 'X-CRM-Signature': goodLegacy }, [current, legacy])).toMatchObject({
      ok: false,
    });
  });

  it('several keys may share a header while they are rotated', async () => {
    const old: TrustedKey = { publicKey: ed25519.keys.rfc8032.publicKeyPem, scheme: 'Ed25519' };
    const imported: TrustedKey = {
      ...current,
      publicKey: await importPublicKey(ed25519.keys.seed.publicKeyPem),
    };
    expect(await verifyWebhook(body, { 'X-CRM-Signature': good }, [old, imported])).toEqual({
      ok: true,
      key: imported,
    });
  });

  it('a key listed under the wrong scheme is a mistake of the list, and said so', async () => {
    const wrong: TrustedKey = { publicKey: rsa.key.publicKeyPem, scheme: 'Ed25519' };
    await expect(verifyWebhook(body, { 'X-CRM-Signature': good }, [wrong])).rejects.toThrow(
      'listed under the scheme',
    );
  });

  it('two values are none', async () => {
    for (const headers of [
      { 'x-crm-signature': [good, good] },
      { 'x-crm-signature': good, 'X-CRM-Signature': good },
    ]) {
      expect(await verifyWebhook(body, headers, [current])).toMatchObject({ ok: false });
    }
  });
});
