import { ed25519Key, fixedRsaKey } from '@footbridge/testkit/keys';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { CrmKeys, KeyRecord, KeyInput } from './keys.ts';

export interface KeysUnderTest {
  readonly keys: CrmKeys;
  close(): Promise<void>;
}

const offer = (seed: string, more: Partial<KeyInput> = {}): KeyInput => ({
  label: `key ${seed}`,
  scheme: 'Ed25519',
  header: 'X-CRM-Signature',
  publicKey: ed25519Key(seed).publicKey,
  ...more,
});

/** The contract of the port, for every engine. */
export function keysContract(engine: string, open: () => Promise<KeysUnderTest>): void {
  describe(`keys: ${engine}`, () => {
    let under: KeysUnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.close());

    const added = async (input: KeyInput): Promise<KeyRecord> => {
      const outcome = await under.keys.add(input);
      if (outcome.kind !== 'added') throw new Error(`not added: ${outcome.kind}`);
      return outcome.key;
    };

    it('S6 adds, lists, disables, enables and removes a key', async () => {
      const key = await added(offer('a'));
      expect(await under.keys.list()).toEqual([key]);
      expect(key).toMatchObject({ label: 'key a', scheme: 'Ed25519', enabled: true, locations: null });
      expect(key.fingerprint).toMatch(/^[0-9a-f]{64}$/);
      expect(await under.keys.setEnabled(key.id, false)).toEqual({ ...key, enabled: false });
      expect(await under.keys.list()).toEqual([{ ...key, enabled: false }]);
      expect(await under.keys.setEnabled(key.id, true)).toEqual(key);
      expect(await under.keys.remove(key.id)).toEqual(key);
      expect(await under.keys.list()).toEqual([]);
    });

    it('S6 resolves with undefined for an id that does not exist', async () => {
      expect(await under.keys.setEnabled('unknown', false)).toBeUndefined();
      expect(await under.keys.remove('unknown')).toBeUndefined();
    });

    it('S5 registers several keys for one header, and one key for several headers', async () => {
      await added(offer('a'));
      await added(offer('b'));
      await added(offer('a', { header: 'X-Other-Signature' }));
      await added(offer('r', { scheme: 'RSA-SHA256', publicKey: fixedRsaKey().publicKey }));
      expect(await under.keys.list()).toHaveLength(4);
    });

    it('S6 reports the same key for the same header as a duplicate, in any notation', async () => {
      const key = await added(offer('a'));
      const outcome = await under.keys.add(
        offer('a', {
          label: 'again',
          header: 'x-crm-SIGNATURE',
          publicKey: `\n${ed25519Key('a').publicKey}\n\n`,
        }),
      );
      expect(outcome).toEqual({ kind: 'duplicate', key });
      expect(await under.keys.list()).toHaveLength(1);
    });

    it('S6 does not store a rejected key', async () => {
      const outcome = await under.keys.add(offer('a', { publicKey: ed25519Key('a').privateKey }));
      expect(outcome).toMatchObject({ kind: 'rejected', problem: { field: 'publicKey' } });
      expect(await under.keys.list()).toEqual([]);
    });

    it('S7 stores each location once', async () => {
      const key = await added(offer('a', { locations: ['locA', 'locB', 'locA'] }));
      expect(key.locations).toEqual(['locA', 'locB']);
      expect((await under.keys.list())[0]?.locations).toEqual(['locA', 'locB']);
    });
  });
}
