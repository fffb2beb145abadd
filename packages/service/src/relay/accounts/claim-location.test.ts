import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { describe, expect, it } from 'vitest';

import type { ClaimOutcome, LocationOwner } from './locations-sql.ts';
import { LocationClaims } from './claim-location.ts';

const loc1 = asLocationId('loc1') ?? expect.fail('not a location');
const ours = { licenseId: 'lic_1', deviceRow: 'dev_1', onlyLocation: null };
const theirs = { licenseId: 'lic_2', deviceRow: 'dev_2', onlyLocation: null };

function open() {
  const owners = new Map<LocationId, LocationOwner>();
  const calls: string[] = [];
  let notify: (subject: string) => void = () => {};
  let duringQuery: () => void = () => {};
  const claims = new LocationClaims({
    mode: 'first',
    locations: {
      async owners(ids) {
        calls.push(`owners ${ids.length}`);
        const found = new Map([...owners].filter(([id]) => ids.includes(id)));
        duringQuery();
        return found;
      },
      async claim({ locationId, licenseId, deviceRow }): Promise<ClaimOutcome> {
        calls.push('claim');
        const owner = owners.get(locationId);
        if (owner !== undefined && owner.licenseId !== licenseId) return 'foreign';
        owners.set(locationId, { licenseId, deviceRow });
        return 'owned';
      },
    },
    changes: {
      async announce(topic, subject) {
        calls.push(`announce ${topic} ${subject}`);
        notify(subject);
      },
      listen(_topic, listener) {
        notify = listener;
        return () => {};
      },
    },
  });
  return {
    claims,
    owners,
    calls,
    notify: (subject: string) => notify(subject),
    duringNextQuery: (action: () => void) => {
      duringQuery = () => {
        duringQuery = () => {};
        action();
      };
    },
  };
}

describe('LocationClaims', () => {
  it('M8 queries the owner once, and needs no query when the Mac reconnects', async () => {
    const { claims, calls } = open();
    for (let again = 0; again < 3; again++) expect(await claims.claim(loc1, ours)).toBe('owned');
    expect(calls).toEqual(['owners 1', 'claim']);
    expect(await claims.claim(loc1, theirs)).toBe('foreign');
    expect(await claims.mayServe(loc1, ours)).toBe(true);
    expect(await claims.mayServe(loc1, theirs)).toBe(false);
    expect(calls).toHaveLength(2);
  });

  it('M8 records another device of the same license as the last one', async () => {
    const { claims, owners, calls } = open();
    await claims.claim(loc1, ours);
    await claims.claim(loc1, { ...ours, deviceRow: 'dev_9' });
    expect(owners.get(loc1)).toEqual({ licenseId: 'lic_1', deviceRow: 'dev_9' });
    expect(calls.at(-1)).toBe('announce location loc1');
  });

  it.each(['loc1', '*'])('M8 queries the owner again after a change notice for %s', async (subject) => {
    const { claims, owners, notify } = open();
    await claims.claim(loc1, ours);
    owners.set(loc1, theirs);
    notify(subject);
    expect(await claims.claim(loc1, ours)).toBe('foreign');
  });

  it('M8 ignores a query result when the owner changes during the query', async () => {
    const { claims, owners, notify, duringNextQuery } = open();
    owners.set(loc1, ours);
    duringNextQuery(() => {
      owners.set(loc1, theirs);
      notify('loc1');
    });
    expect(await claims.mayServe(loc1, ours)).toBe(false);
  });
});
