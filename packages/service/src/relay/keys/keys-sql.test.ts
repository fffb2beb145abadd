import { ed25519Key, fixedRsaKey } from '@footbridge/testkit/keys';
import { beforeEach, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { crmKeys } from './keys-sql.ts';
import type { CrmKeys } from './keys-sql.ts';
import type { KeyInput, KeyRecord } from './keys.ts';

const offer = (seed: string, more: Partial<KeyInput> = {}): KeyInput => ({
  label: `key ${seed}`,
  scheme: 'Ed25519',
  header: 'X-CRM-Signature',
  publicKey: ed25519Key(seed).publicKey,
  ...more,
});

onBothDatabases('CRM keys', (open) => {
  let database: OpenDatabase;
  let keys: CrmKeys;
  beforeEach(async () => {
    database = await open();
    keys = crmKeys(database.db, () => 1000);
  });

  const added = async (input: KeyInput): Promise<KeyRecord> => {
    const outcome = await keys.add(input);
    if (outcome.kind !== 'added') throw new Error(`not added: ${outcome.kind}`);
    return outcome.key;
  };

  it('S6 a key is added, listed, disabled, enabled and removed', async () => {
    const key = await added(offer('a'));
    expect(await keys.list()).toEqual([key]);
    expect(key).toMatchObject({ label: 'key a', scheme: 'Ed25519', enabled: true, locations: null });
    expect(key.fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(await keys.setEnabled(key.id, false)).toEqual({ ...key, enabled: false });
    expect(await keys.list()).toEqual([{ ...key, enabled: false }]);
    expect(await keys.setEnabled(key.id, true)).toEqual(key);
    expect(await keys.remove(key.id)).toEqual(key);
    expect(await keys.list()).toEqual([]);
  });

  it('S6 a change resolves with undefined for an id that does not exist', async () => {
    expect(await keys.setEnabled('unknown', false)).toBeUndefined();
    expect(await keys.remove('unknown')).toBeUndefined();
  });

  it('S5 a header has several keys, and a key several headers', async () => {
    await added(offer('a'));
    await added(offer('b'));
    await added(offer('a', { header: 'X-Other-Signature' }));
    await added(offer('r', { scheme: 'RSA-SHA256', publicKey: fixedRsaKey().publicKey }));
    expect(await keys.list()).toHaveLength(4);
  });

  it('S6 the same key for the same header is a duplicate, in any notation', async () => {
    const key = await added(offer('a'));
    const outcome = await keys.add(
      offer('a', {
        label: 'again',
        header: 'x-crm-SIGNATURE',
        publicKey: `\n${ed25519Key('a').publicKey}\n\n`,
      }),
    );
    expect(outcome).toEqual({ kind: 'duplicate', key });
    expect(await keys.list()).toHaveLength(1);
  });

  it('S6 a rejected key is not stored', async () => {
    const outcome = await keys.add(offer('a', { publicKey: ed25519Key('a').privateKey }));
    expect(outcome).toMatchObject({ kind: 'rejected', problem: { field: 'publicKey' } });
    expect(await keys.list()).toEqual([]);
  });

  it('S7 each location of a key is stored once', async () => {
    const key = await added(offer('a', { locations: ['locA', 'locB', 'locA'] }));
    expect(key.locations).toEqual(['locA', 'locB']);
    expect((await keys.list())[0]?.locations).toEqual(['locA', 'locB']);
  });

  it('S6 a list rejects with EngineError when the database is unavailable', async () => {
    await database.close();
    await expect(keys.list()).rejects.toBeInstanceOf(EngineError);
  });
});
