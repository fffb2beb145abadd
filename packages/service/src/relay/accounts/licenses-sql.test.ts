import { expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { DESCRIPTION, onAccounts, rowOf, walk } from './accounts.fixture.ts';
import type { License } from './licenses-sql.ts';
import { hashSecret, newDeviceToken } from './secret-hash.ts';
import { LICENSE_TRANSITIONS, mayBecome } from './transitions.ts';
import type { LicenseStatus } from './transitions.ts';

onAccounts('licenses', (accounts, openDatabase) => {
  const { here, other, create, activate, licenseNow } = accounts;

  it('M7 the pages have each license once, in order, with its seats', async () => {
    for (let count = 0; count < 5; count++) {
      // Two licenses each have the same time.
      if (count % 2 === 0) await accounts.passTime(1000);
      const { keyHash } = await create(3);
      for (let used = 0; used < count % 3; used++) await activate(keyHash, `mac-000${used}`);
    }
    const walked = await walk(
      (page) => other().licenses.list(page),
      ({ createdAt: at, id }) => ({ at, id }),
    );
    expect(walked).toEqual(await other().licenses.list());
    expect(await other().licenses.maxSeats(walked[0]?.id ?? '')).toBe(3);
    expect(await other().licenses.maxSeats('lic_none')).toBe(0);
    expect(walked.map(({ seats }) => seats.used).toSorted((less, more) => less - more)).toEqual([
      0, 0, 1, 1, 2,
    ]);
  });

  it('M7 lets the number of seats grow, and shrink down to those taken', async () => {
    const { license, keyHash } = await create(1);
    await activate(keyHash, 'mac-0001');
    expect(await here().licenses.change(license.id, { maxSeats: 2 })).toMatchObject({ kind: 'changed' });
    await activate(keyHash, 'mac-0002');
    expect(await here().licenses.change(license.id, { maxSeats: 1 })).toEqual({
      kind: 'seats_taken',
      used: 2,
    });
    expect((await licenseNow(license.id)).seats).toEqual({ used: 2, max: 2 });
  });

  const STATES: readonly LicenseStatus[] = ['active', 'suspended', 'revoked'];
  const reach = async (status: LicenseStatus) => {
    const { license, keyHash } = await create(2);
    if (status !== 'active') await here().licenses.change(license.id, { status });
    return { license, keyHash };
  };

  for (const from of STATES)
    for (const to of STATES) {
      const allowed = from === to || mayBecome(LICENSE_TRANSITIONS, from, to);
      it(`M8 ${allowed ? 'changes' : 'does not change'} a license from ${from} to ${to}`, async () => {
        const { license } = await reach(from);
        const outcome = await other().licenses.change(license.id, { status: to });
        if (allowed)
          expect(outcome).toMatchObject({ kind: 'changed', before: from, license: { status: to } });
        else expect(outcome).toEqual({ kind: 'impossible', from, to });
        expect((await licenseNow(license.id)).status).toBe(allowed ? to : from);
      });
    }

  it('M7 activates only under an active license, and reports a revoked one as unknown', async () => {
    expect(await activate(hashSecret('never created'), 'mac-0001')).toEqual({ kind: 'unknown_key' });
    expect(await activate((await reach('suspended')).keyHash, 'mac-0001')).toEqual({ kind: 'suspended' });
    expect(await activate((await reach('revoked')).keyHash, 'mac-0001')).toEqual({ kind: 'unknown_key' });
  });

  it('M8 returns the states of a device and its license as a standing', async () => {
    const { license, keyHash } = await create(1);
    const tokenHash = hashSecret(newDeviceToken());
    const deviceRow = rowOf(await activate(keyHash, 'mac-0001', tokenHash));
    await here().licenses.change(license.id, { status: 'suspended' });
    const expected = {
      deviceRow,
      deviceId: 'mac-0001',
      licenseId: license.id,
      onlyLocation: null,
      tokenHash,
      device: 'active',
      license: 'suspended',
      osVersion: DESCRIPTION.osVersion,
      appVersion: DESCRIPTION.appVersion,
    };
    expect(await other().devices.standingsByToken([tokenHash, hashSecret('x')])).toEqual(
      new Map([[tokenHash, expected]]),
    );
    expect(await other().devices.standingsByRow([deviceRow, 'dev_none'])).toEqual(
      new Map([[deviceRow, expected]]),
    );
    expect(await other().devices.standingsByToken([])).toEqual(new Map());
  });

  it('M7 changes only the given fields of a license', async () => {
    const { license } = await create(4);
    await accounts.passTime(5);
    const outcome = await here().licenses.change(license.id, { label: 'New name' });
    expect(outcome).toMatchObject({ kind: 'changed' });
    expect(await licenseNow(license.id)).toEqual({
      ...license,
      label: 'New name',
      updatedAt: accounts.now(),
    } satisfies License);
    expect(await here().licenses.change('lic_none', { label: 'x' })).toEqual({ kind: 'not_found' });
  });

  it('M7 rejects a second license with the same key', async () => {
    const { keyHash } = await create();
    const twice = here().licenses.create({ label: 'x', maxSeats: 1, keyHash, keyHint: 'ABCDE' });
    await expect(twice).rejects.toBeInstanceOf(EngineError);
  });

  it('M7 a closed database rejects with EngineError', async () => {
    await openDatabase().close();
    await expect(here().licenses.list()).rejects.toBeInstanceOf(EngineError);
  });
});
