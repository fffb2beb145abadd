import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';

import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { createAssetIndex } from './asset-index-sql.ts';
import type { AssetIndex, AssetRecord } from './asset-index-sql.ts';

onBothDatabases('the asset index', (open, engine) => {
  let clock: FakeClock;
  let database: OpenDatabase;
  let index: AssetIndex;
  beforeEach(async () => {
    clock = new FakeClock();
    database = await open();
    const hashes = (handle: string) => [`new ${handle.slice(-4)}`, `old ${handle.slice(-4)}`];
    index = createAssetIndex({ database, clock, hashes });
  });

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

  it('I8 an added record is found', async () => {
    const added = record('a', { originalId: 'b', note: 'smaller than it was' });
    await index.add(added);
    expect(await index.find('a')).toEqual(added);
    expect(await index.find('c')).toBeUndefined();
  });

  it('I8 an expired record is not found, and is listed until it is removed', async () => {
    await index.add(record('a'));
    await index.add(record('b', { expiresAt: clock.now() + 5000 }));
    expect(await index.expired(10)).toEqual([]);
    await clock.advance(1000);
    expect(await index.find('a')).toBeUndefined();
    expect((await index.expired(10)).map(({ id }) => id)).toEqual(['a']);
    await index.remove('a');
    await index.remove('a');
    expect(await index.expired(10)).toEqual([]);
    expect(await index.find('b')).toBeDefined();
  });

  it('I8 the files of a sender and their originals are found, in the given locations', async () => {
    await index.add(record('original'));
    await index.add(record('converted', { originalId: 'original' }));
    await index.add(record('elsewhere', { locationId: 'loc2' }));
    await index.add(record('of another'));
    await index.add(record('of no one'));
    for (const id of ['converted', 'elsewhere']) await index.setSender(id, '+15550100001');
    await index.setSender('of another', '+15550100002');
    const found = async (locationIds?: string[]) =>
      (await index.ofSender('+15550100001', locationIds)).map(({ id }) => id).toSorted();
    expect(await found()).toEqual(['converted', 'elsewhere', 'original']);
    expect(await found(['loc2'])).toEqual(['elsewhere']);
    expect(await found([])).toEqual([]);
    await clock.advance(5000);
    expect(await found()).toHaveLength(3);
  });

  it('I8 the expiry of the files of one location changes', async () => {
    await index.add(record('a'));
    await index.add(record('b', { locationId: 'loc2' }));
    await clock.advance(500);
    await index.keepFor('loc1', 500);
    expect((await index.expired(10)).map(({ id }) => id)).toEqual(['a']);
    await index.keepFor('loc1', 86_400_000_000);
    expect(await index.expired(10)).toEqual([]);
  });

  it('I8 totals cover one location or all of them', async () => {
    expect(await index.totals()).toEqual({ count: 0, bytes: 0 });
    await index.add(record('a', { size: 10 }));
    await index.add(record('b', { size: 20 }));
    await index.add(record('c', { size: 5_000_000_000, locationId: 'loc2' }));
    expect(await index.totals({ locationId: 'loc1' })).toEqual({ count: 2, bytes: 30 });
    expect(await index.totals()).toEqual({ count: 3, bytes: 5_000_000_030 });
    for (const id of ['a', 'a', 'unknown']) await index.remove(id);
    expect(await index.totals({ locationId: 'loc1' })).toEqual({ count: 1, bytes: 20 });
  });

  it('T53 the totals of a license include all its locations', async () => {
    const of = (licenseId: string) => index.totals({ licenseId });
    await index.add(record('a', { size: 10 }));
    await index.add(record('b', { size: 5_000_000_000, locationId: 'loc2' }));
    await index.add(record('c', { size: 30, licenseId: 'lic_2' }));
    await index.add(record('d', { size: 40, licenseId: null }));
    expect(await of('lic_1')).toEqual({ count: 2, bytes: 5_000_000_010 });
    for (const id of ['a', 'a', 'd', 'unknown']) await index.remove(id);
    expect(await of('lic_1')).toEqual({ count: 1, bytes: 5_000_000_000 });
    expect(await of('lic_2')).toEqual({ count: 1, bytes: 30 });
    expect(await of('lic_none')).toEqual({ count: 0, bytes: 0 });
  });

  it.runIf(engine === 'postgres')(
    'I8 a recount corrects the totals after a node of an earlier version added and removed some',
    async () => {
      for (const [id, locationId] of [
        ['a', 'loc1'],
        ['b', 'loc2'],
      ] as const)
        await index.add(record(id, { locationId, licenseId: `lic of ${locationId}`, size: 10 }));
      await sql`INSERT INTO assets SELECT * FROM jsonb_populate_recordset(NULL::assets,
      (SELECT jsonb_agg(to_jsonb(assets) || '{"id": "c"}') FROM assets WHERE id = 'a'))`.execute(database.db);
      await sql`DELETE FROM assets WHERE id = 'b'`.execute(database.db);
      expect(await index.totals()).toEqual({ count: 2, bytes: 20 });
      await index.recount();
      for (const [of, count] of [
        ['loc1', 2],
        ['loc2', 0],
      ] as const) {
        expect(await index.totals({ locationId: of })).toEqual({ count, bytes: 10 * count });
        expect(await index.totals({ licenseId: `lic of ${of}` })).toEqual({ count, bytes: 10 * count });
      }
      // Removing a file that was not counted when it was added does not leave a negative total.
      for (const id of ['a', 'c']) await index.remove(id);
      expect(await index.totals()).toEqual({ count: 0, bytes: 0 });
      expect(await index.totals({ licenseId: 'lic of loc1' })).toEqual({ count: 0, bytes: 0 });
    },
  );
});
