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

describe('signWebhook', () => {
  it('returns exactly the bytes that were signed', async () => {
    const bytes = new TextEncoder().encode(body);
    const signed = await signWebhook(bytes, await importPrivateKey(ed25519.keys.seed.privateKeyPem));
    expect(signed.body).toEqual(bytes);
    expect(signed.headers).toEqual({ 'Content-Type': 'application/json', 'X-CRM-Signature': good });
  });

  it('puts the signature in the given header', async () => {
    const signed = await signWebhook(body, ed25519.keys.seed.privateKeyPem, { header: 'X-Acme-Signature' });
    const key = { ...current, header: 'x-acme-signature' };
    expect(await verifyWebhook(signed.body, signed.headers, [key])).toEqual({ ok: true, key });
    expect((await verifyWebhook(signed.body, signed.headers, [current])).ok).toBe(false);
  });
});

describe('verifyWebhook', () => {
  it('rejects a request without a signature', async () => {
    expect(await verifyWebhook(body, {}, [current, legacy])).toMatchObject({ ok: false });
    expect(await verifyWebhook(body, { 'x-crm-signature': undefined }, [current])).toMatchObject({
      ok: false,
    });
    expect(await verifyWebhook(body, { 'X-CRM-Signature': good }, [])).toMatchObject({ ok: false });
  });

  it('accepts headers in the form of Node, fetch and web frameworks', async () => {
    for (const headers of [
      { 'x-crm-signature': good },
      { 'X-CRM-SIGNATURE': [good] },
      new Headers({ 'X-CRM-Signature': good }),
    ]) {
      expect(await verifyWebhook(body, headers, [current])).toEqual({ ok: true, key: current });
    }
  });

  it('ignores the legacy header if the current one is present', async () => {
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

  it('ignores the legacy header even if no key is trusted for the current one', async () => {
    const headers = { 'X-CRM-Signature': good, 'X-WH-Signature': goodLegacy };
    expect(await verifyWebhook(body, headers, [legacy])).toMatchObject({ ok: false });
  });

  it('prefers a custom header over the legacy one', async () => {
    const custom = { ...current, header: 'X-Acme-Signature' };
    const headers = { 'X-WH-Signature': goodLegacy, 'X-Acme-Signature': bad };
    expect(await verifyWebhook(body, headers, [legacy, custom])).toMatchObject({ ok: false });
    expect(await verifyWebhook(body, { ...headers, 'X-Acme-Signature': good }, [legacy, custom])).toEqual({
      ok: true,
      key: custom,
    });
  });

  it('accepts a key only in its own header', async () => {
    expect(await verifyWebhook(body, { 'X-WH-Signature': good }, [current, legacy])).toMatchObject({
      ok: false,
    });
    expect(await verifyWebhook(body, { 'X-CRM-Signature': goodLegacy }, [current, legacy])).toMatchObject({
      ok: false,
    });
  });

  it('accepts several keys for one header, so that keys can be rotated', async () => {
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

  it('throws for a trusted key whose scheme does not match its type', async () => {
    const wrong: TrustedKey = { publicKey: rsa.key.publicKeyPem, scheme: 'Ed25519' };
    await expect(verifyWebhook(body, { 'X-CRM-Signature': good }, [wrong])).rejects.toThrow(
      'A trusted key has scheme Ed25519, but its type is RSA-SHA256.',
    );
  });

  it('rejects two values of the header', async () => {
    for (const headers of [
      { 'x-crm-signature': [good, good] },
      { 'x-crm-signature': good, 'X-CRM-Signature': good },
    ]) {
      expect(await verifyWebhook(body, headers, [current])).toMatchObject({ ok: false });
    }
  });
});
