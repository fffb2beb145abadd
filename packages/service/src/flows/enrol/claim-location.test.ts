import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { describe, expect, it } from 'vitest';

import type { Claim, Owner } from '../../ports/licenses/licenses.ts';
import { LocationClaims } from './claim-location.ts';

const loc1 = asLocationId('loc1') ?? expect.fail('not a location');
const ours = { licenseId: 'lic_1', deviceRow: 'dev_1' };
const theirs = { licenseId: 'lic_2', deviceRow: 'dev_2' };

function open() {
  const owners = new Map<LocationId, Owner>();
  const calls: string[] = [];
  let tell: (subject: string) => void = () => {};
  let during: () => void = () => {};
  const claims = new LocationClaims({
    mode: 'first',
    licenses: {
      async owners(ids) {
        calls.push(`owners ${ids.length}`);
        const found = new Map([...owners].filter(([id]) => ids.includes(id)));
        during();
        return found;
      },
      async claim({ locationId, licenseId, deviceRow }): Promise<Claim> {
        calls.push('claim');
        const owner = owners.get(locationId);
        if (owner !== undefined && owner.licenseId !== licenseId) return 'foreign';
        owners.set(locationId, { licenseId, deviceRow });
        return 'owned';
      },
    },
    changes: {
      listen(_topic, listener) {
        tell = listener;
        return () => {};
      },
    },
  });
  return {
    claims,
    owners,
    calls,
    tell: (subject: string) => tell(subject),
    meanwhile: (what: () => void) => {
      during = () => {
        during = () => {};
        what();
      };
    },
  };
}

describe('claims on locations', () => {
  it('M8 the owner is asked for once, then a Mac that comes back costs nothing', async () => {
    const { claims, calls } = open();
    for (let again = 0; again < 3; again++) expect(await claims.claim(loc1, ours)).toBe('owned');
    expect(calls).toEqual(['owners 1', 'claim']);
    expect(await claims.claim(loc1, theirs)).toBe('foreign');
    expect(await claims.owns(loc1, 'lic_1')).toBe(true);
    expect(await claims.owns(loc1, 'lic_2')).toBe(false);
    expect(calls).toHaveLength(2);
  });

  it('M8 another device of the same license is noted as the one that came last', async () => {
    const { claims, owners } = open();
    await claims.claim(loc1, ours);
    await claims.claim(loc1, { ...ours, deviceRow: 'dev_9' });
    expect(owners.get(loc1)).toEqual({ licenseId: 'lic_1', deviceRow: 'dev_9' });
  });

  it.each(['loc1', '*'])('M8 a change of %s is acted upon', async (subject) => {
    const { claims, owners, tell } = open();
    await claims.claim(loc1, ours);
    owners.set(loc1, theirs);
    tell(subject);
    expect(await claims.claim(loc1, ours)).toBe('foreign');
  });

  it('M8 an answer that was on its way when the location changed hands is not believed', async () => {
    const { claims, owners, tell, meanwhile } = open();
    owners.set(loc1, ours);
    meanwhile(() => {
      owners.set(loc1, theirs);
      tell('loc1');
    });
    expect(await claims.owns(loc1, 'lic_1')).toBe(false);
  });
});
