import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { openDatabase } from '../../platform/sql/open-database.ts';
import { DESCRIPTION, location, MAX_UNASSIGNED, onAccounts, rowOf } from './accounts.fixture.ts';

onAccounts('locations', (accounts) => {
  const { here, other, node, create, activate, locationNow } = accounts;

  const pair = async () => {
    const [one, two] = [await create(9), await create(9)];
    const of = async ({ license, keyHash }: typeof one) => ({
      licenseId: license.id,
      deviceRow: rowOf(await activate(keyHash, 'mac-0001')),
    });
    return { ours: await of(one), theirs: await of(two) };
  };
  it('M8 gives a location to the first license that claims it, and rejects another one', async () => {
    const { ours, theirs } = await pair();
    const locationId = location('loc1');
    expect(await here().locations.claim({ locationId, ...ours }, 'first')).toBe('owned');
    expect(await other().locations.claim({ locationId, ...theirs }, 'first')).toBe('foreign');
    expect(await other().locations.claim({ locationId, ...ours }, 'first')).toBe('owned');
    expect(await other().locations.claim({ locationId, ...ours }, 'operator')).toBe('owned');
    expect(await other().locations.owners([locationId, location('loc2')])).toEqual(
      new Map([[locationId, ours]]),
    );
    expect(await locationNow('loc1')).toEqual({
      locationId: 'loc1',
      state: 'bound',
      licenseId: ours.licenseId,
      license: 'Office',
      claimed: true,
      lastDevice: {
        id: ours.deviceRow,
        deviceId: 'mac-0001',
        name: DESCRIPTION.name,
        lastSeenAt: expect.any(Number),
      },
    });
  });

  it('M8 gives a location to one of two licenses that claim it simultaneously', async () => {
    const { ours, theirs } = await pair();
    for (let round = 0; round < 10; round++) {
      const locationId = location(`race${round}`);
      const claims = await Promise.all(
        [ours, theirs, ours, theirs].map((claimant, index) =>
          node(index).locations.claim({ locationId, ...claimant }, 'first'),
        ),
      );
      expect(new Set([claims[0], claims[1]])).toEqual(new Set(['foreign', 'owned']));
      expect([claims[2], claims[3]]).toEqual([claims[0], claims[1]]);
    }
  });

  it('M8 lists a claimed location as unassigned when only the operator assigns locations', async () => {
    const { ours, theirs } = await pair();
    const locationId = location('loc1');
    expect(await here().locations.claim({ locationId, ...ours }, 'operator')).toBe('unassigned');
    expect(await locationNow('loc1')).toEqual({
      locationId: 'loc1',
      state: 'unassigned',
      licenseId: null,
      license: null,
      claimed: false,
      lastDevice: null,
    });
    expect(await other().locations.assign(locationId, ours.licenseId)).toMatchObject({
      kind: 'changed',
      before: null,
      location: { state: 'bound', licenseId: ours.licenseId },
    });
    expect(await here().locations.claim({ locationId, ...ours }, 'operator')).toBe('owned');
    expect(await here().locations.claim({ locationId, ...theirs }, 'operator')).toBe('foreign');
  });

  it('M8 bounds the number of unassigned locations', async () => {
    const { ours } = await pair();
    for (let index = 0; index < MAX_UNASSIGNED + 5; index++) {
      const locationId = location(`made-up-${index}`);
      expect(await here().locations.claim({ locationId, ...ours }, 'operator')).toBe('unassigned');
    }
    expect(await other().locations.list('', 100)).toHaveLength(MAX_UNASSIGNED);
    // The limit does not apply to assignments by the operator.
    expect(await here().locations.assign(location('wanted'), ours.licenseId)).toMatchObject({
      kind: 'changed',
    });
  });

  it('lists each location once, page by page, whatever its id', async () => {
    const { ours } = await pair();
    const ids = ['B', 'a', '_x', 'é', 'a b', 'A', 'Z9', '9'];
    for (const id of ids) await here().locations.assign(location(id), ours.licenseId);
    const listed: string[] = [];
    for (let after: string | undefined = ''; after !== undefined; after = listed.at(-1)) {
      const page = await other().locations.list(after, 3);
      if (page.length === 0) break;
      listed.push(...page.map(({ locationId }) => locationId));
    }
    expect(listed.toSorted()).toEqual(ids.toSorted());
  });

  it('M8 assigns a location to another license, or releases it', async () => {
    const { ours, theirs } = await pair();
    const locationId = location('loc1');
    await here().locations.claim({ locationId, ...ours }, 'first');
    expect(await other().locations.assign(locationId, theirs.licenseId)).toMatchObject({
      kind: 'changed',
      before: ours.licenseId,
      location: { state: 'bound', licenseId: theirs.licenseId, deviceRow: null },
    });
    expect(await here().locations.claim({ locationId, ...ours }, 'first')).toBe('foreign');
    expect(await here().locations.assign(locationId, null)).toMatchObject({
      kind: 'changed',
      location: { state: 'released', licenseId: null },
    });
    expect(await here().locations.claim({ locationId, ...ours }, 'operator')).toBe('unassigned');
    expect(await here().locations.claim({ locationId, ...ours }, 'first')).toBe('owned');
  });

  it('M4 knows when a location was handed over to another device', async () => {
    const { ours, theirs } = await pair();
    const claim = (id: string, claimant: typeof ours) =>
      here().locations.claim({ locationId: location(id), ...claimant }, 'first');
    const since = accounts.now();
    for (const id of ['loc1', 'loc2', 'loc3']) await claim(id, ours);
    await accounts.passTime(1000);
    await claim('loc1', ours);
    expect(await other().locations.handovers(since)).toEqual(new Map());
    await claim('loc1', { ...ours, deviceRow: theirs.deviceRow });
    await other().locations.assign(location('loc2'), theirs.licenseId);
    await accounts.passTime(1000);
    await claim('loc2', theirs);
    const both = new Map(['loc1', 'loc2'].map((id) => [id, since + 1000]));
    expect(await other().locations.handovers(since)).toEqual(both);
    expect(await other().locations.handovers(since, 'loc2')).toEqual(new Map([['loc2', since + 1000]]));
    expect(await other().locations.handovers(since + 1001)).toEqual(new Map());
  });

  it('M8 assigns a location before the first Mac connects, but not to an unknown or revoked license', async () => {
    const { ours, theirs } = await pair();
    expect(await here().locations.assign(location('new'), ours.licenseId)).toMatchObject({ kind: 'changed' });
    expect(await here().locations.assign(location('new'), 'lic_none')).toEqual({ kind: 'no_such_license' });
    await here().licenses.change(theirs.licenseId, { status: 'revoked' });
    expect(await here().locations.assign(location('new'), theirs.licenseId)).toEqual({
      kind: 'no_such_license',
    });
    expect(await here().locations.assign(location('unknown'), null)).toEqual({ kind: 'not_found' });
    expect(await here().locations.list('', 100)).toHaveLength(1);
    expect(await locationNow('unknown')).toBeUndefined();
  });

  it('M8 lists owned locations, and deletes those that no license owns', async () => {
    const { ours } = await pair();
    const [owned, mistyped] = [location('loc1'), location('loc2')];
    await here().locations.claim({ locationId: owned, ...ours }, 'first');
    await here().locations.claim({ locationId: mistyped, ...ours }, 'operator');
    expect(await other().locations.owned(2)).toEqual(['loc1']);
    await here().locations.assign(location('loc3'), ours.licenseId);
    expect(await other().locations.owned(1)).toEqual(['loc1']);
    expect(await other().locations.delete(owned)).toBe('owned');
    expect(await other().locations.delete(mistyped)).toBe('deleted');
    expect(await locationNow('loc2')).toBeUndefined();
    expect(await here().locations.delete(mistyped)).toBe('not_found');
    expect(await here().locations.claim({ locationId: mistyped, ...ours }, 'first')).toBe('owned');
  });

  it('M4 knows that a location had another device before it was deleted', async () => {
    const { ours, theirs } = await pair();
    const locationId = location('loc1');
    const since = accounts.now();
    await here().locations.claim({ locationId, ...ours }, 'first');
    await here().locations.assign(locationId, null);
    await accounts.passTime(1000);
    expect(await here().locations.delete(locationId)).toBe('deleted');
    await accounts.passTime(1000);
    await here().locations.claim({ locationId, ...theirs }, 'first');
    expect(await other().locations.handovers(since)).toEqual(new Map([['loc1', since + 1000]]));
    await accounts.passTime(1000);
    await here().locations.claim({ locationId, ...theirs, deviceRow: ours.deviceRow }, 'first');
    expect(await other().locations.handovers(since, 'loc1')).toEqual(new Map([['loc1', since + 3000]]));
    expect(await other().locations.handovers(since + 3001)).toEqual(new Map());
  });

  it('M8 an unassigned location cannot be released', async () => {
    const { ours } = await pair();
    await here().locations.claim({ locationId: location('loc1'), ...ours }, 'operator');
    expect(await here().locations.assign(location('loc1'), null)).toEqual({
      kind: 'impossible',
      from: 'unassigned',
      to: 'released',
    });
  });
});

it('M8 counts the locations of a license without reading those of others', async () => {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  const { rows } = await sql<{
    detail: string;
  }>`explain query plan select count(*) from locations where license_id = 'l'`.execute(database.db);
  expect(rows.map(({ detail }) => detail).join()).toMatch(/^SEARCH locations .*locations_license/);
  await database.close();
});
