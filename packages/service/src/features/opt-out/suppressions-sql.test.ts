import { FakeClock } from '@footbridge/testkit/fake-clock';
import { beforeEach, expect, it } from 'vitest';

import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import { storedSuppressions } from './suppressions-sql.ts';
import type { StoredSuppressions } from './suppressions-sql.ts';

const PHONE = '+15550100001';

onBothDatabases('suppressions', (open) => {
  let database: OpenDatabase;
  let suppressions: StoredSuppressions;
  const withKeys = (...keys: string[]) =>
    storedSuppressions({
      db: database.db,
      clock: new FakeClock(),
      hashes: { handle: (handle) => keys.map((key) => `${key}(${handle.slice(-4)}…)`) },
    });
  beforeEach(async () => {
    database = await open();
    suppressions = withKeys('a');
  });

  const decide = (isSuppressed: boolean, at?: number, locationId = 'loc1') =>
    suppressions.set({ locationId, handle: PHONE, isSuppressed, source: 'word', at });

  it('E4 keeps a suppression for its location until it ends', async () => {
    expect(await suppressions.has('loc1', PHONE)).toBe(false);
    await decide(true);
    expect(await suppressions.has('loc1', PHONE)).toBe(true);
    expect(await suppressions.has('loc2', PHONE)).toBe(false);
    expect(await suppressions.has('loc1', '+15550109999')).toBe(false);
    await decide(false);
    expect(await suppressions.has('loc1', PHONE)).toBe(false);
  });

  it('E4 the newest decision counts, in any order of arrival', async () => {
    await decide(false, 2000);
    await decide(true, 1000);
    expect(await suppressions.has('loc1', PHONE)).toBe(false);
    await decide(true, 3000);
    await decide(false, 2000);
    expect(await suppressions.has('loc1', PHONE)).toBe(true);
  });

  it('E4 records several decisions at once, even about one number', async () => {
    const change = { locationId: 'loc1', source: 'operator' as const };
    await suppressions.set(
      { ...change, handle: PHONE, isSuppressed: false, at: 2000 },
      { ...change, handle: PHONE, isSuppressed: true, at: 1000 },
      { ...change, handle: '+15550100002', isSuppressed: true, at: 1000 },
      { ...change, handle: '+15550100002', isSuppressed: true, at: 1500 },
    );
    expect(await suppressions.list({ limit: 10 })).toEqual([
      { locationId: 'loc1', hash: 'a(0002…)', source: 'operator', since: 1500 },
    ]);
  });

  it('E4 finds and ends a suppression that was recorded with a former key', async () => {
    await decide(true, 1000);
    suppressions = withKeys('b', 'a');
    expect(await suppressions.has('loc1', PHONE)).toBe(true);
    await decide(false, 2000);
    expect(await suppressions.has('loc1', PHONE)).toBe(false);
  });

  it('E4 lists page by page, and restores what was listed', async () => {
    for (const locationId of ['loc2', 'loc1', 'loc3']) await decide(true, 1000, locationId);
    await decide(false, 2000, 'loc3');
    const first = await suppressions.list({ limit: 1 });
    expect(first).toEqual([{ locationId: 'loc1', hash: 'a(0001…)', source: 'word', since: 1000 }]);
    const rest = await suppressions.list({ after: first[0], limit: 100 });
    expect(rest.map(({ locationId }) => locationId)).toEqual(['loc2']);
    expect(await suppressions.list({ locationIds: ['loc2'], limit: 10 })).toEqual(rest);
    expect(await suppressions.list({ locationIds: [], limit: 10 })).toEqual([]);
    expect(await suppressions.list({ handle: PHONE, limit: 10 })).toEqual([...first, ...rest]);
    expect(await suppressions.list({ handle: '+15550109999', limit: 10 })).toEqual([]);
    await database.db.deleteFrom('suppressions').execute();
    await suppressions.restore([...first, ...rest]);
    expect(await suppressions.list({ limit: 10 })).toEqual([...first, ...rest]);
    expect(await suppressions.has('loc2', PHONE)).toBe(true);
  });

  it('E4 restores more entries than fit into one statement', async () => {
    const entries = Array.from({ length: 25_000 }, (_, index) => ({
      locationId: 'loc1',
      hash: String(index).padStart(6, '0'),
      source: 'crm' as const,
      since: 1,
    }));
    await suppressions.restore(entries);
    expect(await suppressions.list({ limit: 30_000 })).toHaveLength(25_000);
  });
});
