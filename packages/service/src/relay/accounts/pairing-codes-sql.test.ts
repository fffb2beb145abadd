import { expect, it } from 'vitest';

import { deviceId, DESCRIPTION, location, onAccounts, rowOf } from './accounts.fixture.ts';
import { hashSecret, newDeviceToken } from './secret-hash.ts';

onAccounts('pairing codes', (accounts) => {
  const { here, other, create, activate, licenseNow, locationNow } = accounts;

  const MINUTES = 60_000;
  const LOCATION = location('loc-paired');
  const createCode = (code: string, minutes = 15) =>
    here().pairingCodes.create({
      codeHash: hashSecret(code),
      locationId: LOCATION,
      expiresAt: accounts.now() + minutes * MINUTES,
    });
  const pair = (code: string, device: string, through = here()) =>
    through.pairingCodes.pair({
      codeHash: hashSecret(code),
      deviceId: deviceId(device),
      tokenHash: hashSecret(newDeviceToken()),
      ...DESCRIPTION,
    });

  it('M12 needs a license that owns the location', async () => {
    expect(await createCode('code')).toEqual({ kind: 'no_license' });
    expect(await pair('code', 'mac-0001')).toEqual({ kind: 'unknown_code' });
    const { license } = await create();
    await here().locations.assign(LOCATION, license.id);
    const expected = { kind: 'created', licenseId: license.id, license: license.label };
    expect(await createCode('code')).toEqual(expected);
  });

  it('M8 a code becomes invalid when its location moves, also when it moves back', async () => {
    const [{ license }, { license: next }] = [await create(5), await create(5)];
    for (const elsewhere of [next.id, null]) {
      const code = `code before ${elsewhere}`;
      await here().locations.assign(LOCATION, license.id);
      await createCode(code);
      await other().locations.assign(LOCATION, elsewhere);
      expect(await pair(code, 'mac-0001')).toEqual({ kind: 'unknown_code' });
      await other().locations.assign(LOCATION, license.id);
      expect(await pair(code, 'mac-0001')).toEqual({ kind: 'unknown_code' });
    }
  });

  it('M8 a claimed location gets a code while there is one license, and later once the operator confirmed it', async () => {
    const { license, keyHash } = await create();
    const deviceRow = rowOf(await activate(keyHash, 'mac-0001'));
    await here().locations.claim({ locationId: LOCATION, licenseId: license.id, deviceRow }, 'auto');
    expect(await createCode('only license')).toMatchObject({ kind: 'created' });
    await create();
    expect(await createCode('claimed')).toEqual({ kind: 'claimed', license: license.label });
    expect(await pair('only license', 'mac-0002')).toEqual({ kind: 'unknown_code' });
    expect(await locationNow(LOCATION)).toMatchObject({ claimed: true });
    await here().locations.assign(LOCATION, license.id);
    expect(await locationNow(LOCATION)).toMatchObject({ claimed: false });
    await here().locations.claim({ locationId: LOCATION, licenseId: license.id, deviceRow }, 'auto');
    expect(await createCode('confirmed')).toMatchObject({ kind: 'created' });
  });

  it('M12 a code activates one device, once, on any node', async () => {
    const { license } = await create(5);
    await here().locations.assign(LOCATION, license.id);
    await createCode('code');
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        pair('code', `mac-000${index}`, index % 2 === 0 ? here() : other()),
      ),
    );
    const paired = outcomes.filter(({ kind }) => kind === 'paired');
    expect(paired).toMatchObject([
      { locationId: LOCATION, activation: { kind: 'activated', licenseId: license.id, again: false } },
    ]);
    expect(outcomes.filter(({ kind }) => kind === 'used_code')).toHaveLength(7);
    expect((await licenseNow(license.id)).seats.used).toBe(1);
  });

  it('M12 a failed activation does not use the code up', async () => {
    const { license, keyHash } = await create(1);
    await here().locations.assign(LOCATION, license.id);
    await createCode('code');
    await activate(keyHash, 'mac-0001');
    expect(await pair('code', 'mac-0002')).toMatchObject({ activation: { kind: 'exhausted' } });
    await here().licenses.change(license.id, { maxSeats: 2 });
    expect(await pair('code', 'mac-0002')).toMatchObject({ activation: { kind: 'activated' } });
  });

  it('M12 an expired code is reported as such for a day', async () => {
    const { license } = await create();
    await here().locations.assign(LOCATION, license.id);
    await createCode('old');
    await accounts.passTime(15 * MINUTES);
    expect(await pair('old', 'mac-0001')).toEqual({ kind: 'expired_code' });
    await accounts.passTime(24 * 60 * MINUTES + 1);
    await createCode('new');
    expect(await pair('old', 'mac-0001')).toEqual({ kind: 'unknown_code' });
    expect(await pair('new', 'mac-0001')).toMatchObject({ kind: 'paired' });
  });
});
