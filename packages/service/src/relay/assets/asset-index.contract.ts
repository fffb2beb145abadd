import { FakeClock } from '@footbridge/testkit/fake-clock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { AssetIndex, AssetRecord } from './asset-index.ts';

export interface AssetIndexEngine {
  readonly index: AssetIndex;
  close(): Promise<void>;
}

export function assetIndexContract(
  name: string,
  open: (clock: FakeClock) => Promise<AssetIndexEngine>,
): void {
  describe(`asset index: ${name}`, () => {
    let clock: FakeClock;
    let engine: AssetIndexEngine;
    beforeEach(async () => {
      clock = new FakeClock();
      engine = await open(clock);
    });
    afterEach(() => engine.close());

    const record = (id: string, more: Partial<AssetRecord> = {}): AssetRecord => ({
      id,
      locationId: 'loc1',
      licenseId: 'lic_1',
      name: 'photo.jpg',
      contentType: 'image/jpeg',
      size: 5_000_000_000,
      sha256: 'ab'.repeat(32),
      originalId: null,
      note: null,
      createdAt: clock.now(),
      expiresAt: clock.now() + 1000,
      ...more,
    });

    it('I8 returns an added record', async () => {
      const added = record('a', { originalId: 'b', note: 'smaller than it was' });
      await engine.index.add(added);
      expect(await engine.index.find('a')).toEqual(added);
      expect(await engine.index.find('c')).toBeUndefined();
    });

    it('I8 does not find an expired record, and lists it until it is removed', async () => {
      await engine.index.add(record('a'));
      await engine.index.add(record('b', { expiresAt: clock.now() + 5000 }));
      expect(await engine.index.expired(10)).toEqual([]);
      await clock.advance(1000);
      expect(await engine.index.find('a')).toBeUndefined();
      expect((await engine.index.expired(10)).map(({ id }) => id)).toEqual(['a']);
      await engine.index.remove('a');
      await engine.index.remove('a');
      expect(await engine.index.expired(10)).toEqual([]);
      expect(await engine.index.find('b')).toBeDefined();
    });

    it('I8 finds the files of a sender and their originals, in the given locations', async () => {
      await engine.index.add(record('original'));
      await engine.index.add(record('converted', { originalId: 'original' }));
      await engine.index.add(record('elsewhere', { locationId: 'loc2' }));
      await engine.index.add(record('of another'));
      await engine.index.add(record('of no one'));
      for (const id of ['converted', 'elsewhere']) await engine.index.setSender(id, '+15550100001');
      await engine.index.setSender('of another', '+15550100002');
      const found = async (locationIds?: string[]) =>
        (await engine.index.ofSender('+15550100001', locationIds)).map(({ id }) => id).toSorted();
      expect(await found()).toEqual(['converted', 'elsewhere', 'original']);
      expect(await found(['loc2'])).toEqual(['elsewhere']);
      expect(await found([])).toEqual([]);
      await clock.advance(5000);
      expect(await found()).toHaveLength(3);
    });

    it('I8 changes the expiry of the files of one location', async () => {
      await engine.index.add(record('a'));
      await engine.index.add(record('b', { locationId: 'loc2' }));
      await clock.advance(500);
      await engine.index.keepFor('loc1', 500);
      expect((await engine.index.expired(10)).map(({ id }) => id)).toEqual(['a']);
      await engine.index.keepFor('loc1', 86_400_000_000);
      expect(await engine.index.expired(10)).toEqual([]);
    });

    it('I8 sums up one location and all locations', async () => {
      expect(await engine.index.totals()).toEqual({ count: 0, bytes: 0 });
      await engine.index.add(record('a', { size: 10 }));
      await engine.index.add(record('b', { size: 20 }));
      await engine.index.add(record('c', { size: 5_000_000_000, locationId: 'loc2' }));
      expect(await engine.index.totals({ locationId: 'loc1' })).toEqual({ count: 2, bytes: 30 });
      expect(await engine.index.totals()).toEqual({ count: 3, bytes: 5_000_000_030 });
      for (const id of ['a', 'a', 'unknown']) await engine.index.remove(id);
      expect(await engine.index.totals({ locationId: 'loc1' })).toEqual({ count: 1, bytes: 20 });
    });

    it('T53 sums up one license over its locations', async () => {
      const of = (licenseId: string) => engine.index.totals({ licenseId });
      await engine.index.add(record('a', { size: 10 }));
      await engine.index.add(record('b', { size: 5_000_000_000, locationId: 'loc2' }));
      await engine.index.add(record('c', { size: 30, licenseId: 'lic_2' }));
      await engine.index.add(record('d', { size: 40, licenseId: null }));
      expect(await of('lic_1')).toEqual({ count: 2, bytes: 5_000_000_010 });
      for (const id of ['a', 'a', 'd', 'unknown']) await engine.index.remove(id);
      expect(await of('lic_1')).toEqual({ count: 1, bytes: 5_000_000_000 });
      expect(await of('lic_2')).toEqual({ count: 1, bytes: 30 });
      expect(await of('lic_none')).toEqual({ count: 0, bytes: 0 });
    });
  });
}
