import { expect, it } from 'vitest';

import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import { locationNames } from './names-sql.ts';

onBothDatabases('names of locations', (open) => {
  it('a location has the name that it was given last, until it is removed', async () => {
    const names = locationNames((await open()).db);
    await names.set('loc1', 'Front office');
    await names.set('loc1', 'Smile Dental');
    await names.set('loc2', '<b>Back</b>');
    expect(await names.of(['loc2', 'loc1', 'loc3'])).toEqual(
      new Map([
        ['loc1', 'Smile Dental'],
        ['loc2', '<b>Back</b>'],
      ]),
    );
    expect(await names.of([])).toEqual(new Map());
    expect(await names.remove('loc1')).toBe(true);
    expect(await names.remove('loc1')).toBe(false);
    expect([...(await names.of(['loc1', 'loc2'])).keys()]).toEqual(['loc2']);
  });

  it('names that a reader takes for the same are shared', async () => {
    const names = locationNames((await open()).db);
    await names.set('loc1', 'Café  North');
    await names.set('loc2', 'Café South');
    expect(await names.shared()).toEqual([]);
    await names.set('loc3', 'CAFE\u0301 NORTH');
    expect(await names.shared()).toEqual(['loc1', 'loc3']);
    await names.set('loc3', 'Café East');
    expect(await names.shared()).toEqual([]);
  });

  it('names are read for more locations than a query has parameters', async () => {
    const names = locationNames((await open()).db);
    await names.set('loc39999', 'Last');
    const ids = Array.from({ length: 40_000 }, (_, index) => `loc${index}`);
    expect(await names.of(ids)).toEqual(new Map([['loc39999', 'Last']]));
  });
});
