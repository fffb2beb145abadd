import { sign } from 'node:crypto';

import { silentLog } from '@footbridge/testkit/silent-log';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { ed25519Key, fixedRsaKey } from '@footbridge/testkit/keys';
import type { SigningKey } from '@footbridge/testkit/keys';
import { describe, expect, it } from 'vitest';

import { checkKey } from './check-key.ts';
import { openKeyRing } from './key-ring.ts';
import type { KeyRecord } from './keys.ts';

function record(id: string, key: SigningKey, more: Partial<KeyRecord> = {}): KeyRecord {
  const checked = checkKey({ label: id, scheme: key.scheme, header: key.header, publicKey: key.publicKey });
  if (!checked.ok) throw new Error(checked.problem.reason);
  return { ...checked.key, id, enabled: true, createdAt: 0, ...more };
}

const a = record('a', ed25519Key('a'));
const b = record('b', ed25519Key('b'));
const legacy = record('legacy', fixedRsaKey());

async function ringOf(table: KeyRecord[], fixed: KeyRecord[] = []) {
  const store = { table, broken: false, reads: 0 };
  const clock = new FakeClock();
  const stored = {
    async list() {
      store.reads++;
      if (store.broken) throw new Error('unavailable');
      return store.table;
    },
  };
  return { ring: await openKeyRing({ stored, fixed: () => fixed, clock, log: silentLog }), store, clock };
}

describe('the key ring', () => {
  it('S5 finds keys by their header, case-insensitively', async () => {
    const { ring } = await ringOf([a, b, { ...legacy, header: 'X-Wh-SIGNATURE' }]);
    expect(ring.candidates('x-crm-signature').map(({ id }) => id)).toEqual(['a', 'b']);
    expect(ring.candidates('x-wh-signature').map(({ id }) => id)).toEqual(['legacy']);
    expect(ring.candidates('x-other')).toEqual([]);
    expect(ring.size).toBe(3);
  });

  it('S5 accepts keys of the settings and of the table', async () => {
    const { ring } = await ringOf([a], [b]);
    expect(ring.candidates('x-crm-signature').map(({ id }) => id)).toEqual(['b', 'a']);
  });

  it('S5 verifies a signature with the scheme of the key', async () => {
    const { ring } = await ringOf([a, legacy]);
    const body = Buffer.from('{}');
    const [key] = ring.candidates('x-crm-signature');
    const [old] = ring.candidates('x-wh-signature');
    const signature = sign(null, body, ed25519Key('a').privateKey);
    const oldSignature = sign('sha256', body, fixedRsaKey().privateKey);
    expect([key?.signatureBytes, old?.signatureBytes]).toEqual([64, 256]);
    expect(key?.verify(body, signature)).toBe(true);
    expect(old?.verify(body, oldSignature)).toBe(true);
    expect(old?.verify(Buffer.from('{ }'), oldSignature)).toBe(false);
  });

  it('S6 ignores disabled keys', async () => {
    const { ring } = await ringOf([{ ...a, enabled: false }, b]);
    expect(ring.candidates('x-crm-signature').map(({ id }) => id)).toEqual(['b']);
  });

  it('S4 puts the current header first and the legacy one last among all registered headers', async () => {
    const { ring } = await ringOf([
      legacy,
      { ...legacy, id: 'r', header: 'X-Alpha-Signature' },
      { ...a, id: 'z', header: 'X-Zeta-Signature' },
      { ...b, id: 'y', header: 'X-Beta-Signature' },
    ]);
    expect(ring.headers).toEqual([
      'x-crm-signature',
      'x-beta-signature',
      'x-zeta-signature',
      'x-alpha-signature',
      'x-wh-signature',
    ]);
  });

  it('S4 includes the current header even when it has no key', async () => {
    const { ring } = await ringOf([legacy]);
    expect(ring.headers).toEqual(['x-crm-signature', 'x-wh-signature']);
  });

  it('S6 applies changes on a reload', async () => {
    const { ring, store } = await ringOf([a]);
    store.table = [b];
    await ring.reload();
    expect(ring.candidates('x-crm-signature').map(({ id }) => id)).toEqual(['b']);
  });

  it('S6 reads the table once more after reloads during a read', async () => {
    const { ring, store } = await ringOf([a]);
    const reloads = [ring.reload(), ring.reload(), ring.reload()];
    store.table = [b];
    await Promise.all(reloads);
    expect(store.reads).toBe(3);
    expect(ring.candidates('x-crm-signature').map(({ id }) => id)).toEqual(['b']);
  });

  it('S6 keeps the known keys while the table cannot be read, and retries', async () => {
    const { ring, store, clock } = await ringOf([a]);
    store.broken = true;
    store.table = [b];
    await ring.reload();
    expect(ring.candidates('x-crm-signature').map(({ id }) => id)).toEqual(['a']);
    store.broken = false;
    await clock.advance(1000);
    expect(ring.candidates('x-crm-signature').map(({ id }) => id)).toEqual(['b']);
  });

  it('S6 stops retrying when it is closed', async () => {
    const { ring, store, clock } = await ringOf([a]);
    store.broken = true;
    await ring.reload();
    ring.close();
    const before = store.reads;
    await clock.advance(5000);
    expect(store.reads).toBe(before);
  });

  it('S6 skips a damaged row and keeps the others', async () => {
    const { ring } = await ringOf([{ ...a, publicKey: 'damaged' }, b]);
    expect(ring.candidates('x-crm-signature').map(({ id }) => id)).toEqual(['b']);
  });

  it('S6 rejects when the table cannot be read at the start', async () => {
    const stored = { list: () => Promise.reject(new Error('unavailable')) };
    await expect(
      openKeyRing({ stored, fixed: () => [], clock: new FakeClock(), log: silentLog }),
    ).rejects.toThrow('unavailable');
  });
});
