import { asDeviceId, asLocationId } from '@footbridge/protocol/ids';
import type { DeviceId, LocationId } from '@footbridge/protocol/ids';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import type { TimedPage, TimedPlace } from '../../platform/timed-page.ts';
import { activationsPerDay, KEPT_PER_SEAT } from './devices-sql.ts';
import type { Activation, DeviceDetails, License, Licenses } from './licenses.ts';
import { hashSecret, newDeviceToken } from './secret-hash.ts';
import { DEVICE_TRANSITIONS, LICENSE_TRANSITIONS, mayBecome } from './transitions.ts';
import type { LicenseStatus } from './transitions.ts';

export interface LicensesEngine {
  /** One or more nodes on one store. */
  readonly nodes: readonly Licenses[];
  passTime(ms: number): Promise<void>;
  now(): number;
  readonly maxUnassigned: number;
  deleteAll(): Promise<void>;
  close(): Promise<void>;
}

export function licensesContract(name: string, createEngine: () => Promise<LicensesEngine>): void {
  describe(`licenses: ${name}`, () => {
    let engine: LicensesEngine;
    let licenses: Licenses;
    let otherNode: Licenses;
    beforeAll(async () => {
      engine = await createEngine();
      licenses = nodeOf(engine, 0);
      otherNode = nodeOf(engine, engine.nodes.length - 1);
    });
    beforeEach(() => engine.deleteAll());
    afterAll(() => engine.close());

    let created = 0;
    const create = async (maxSeats = 1) => {
      const keyHash = hashSecret(`key ${++created}`);
      const license = await licenses.createLicense({ label: 'Office', maxSeats, keyHash, keyHint: 'ABCDE' });
      return { license, keyHash };
    };
    const activate = (keyHash: string, device: string, tokenHash = hashSecret(newDeviceToken())) =>
      licenses.activate({ keyHash, deviceId: deviceId(device), tokenHash, ...DESCRIPTION });
    const licenseNow = async (id: string) => {
      const all = await otherNode.listLicenses();
      return all.find((one) => one.id === id) ?? expect.fail('no such license');
    };

    const locationNow = async (locationId: string) => (await otherNode.findLocations([locationId]))[0];

    describe('pages', () => {
      /** Reads a list in pages of 2, whose last one is shorter. */
      async function walk<T>(
        read: (page: TimedPage) => Promise<readonly T[]>,
        placeOf: (entry: T) => TimedPlace,
      ): Promise<T[]> {
        const all: T[] = [];
        for (;;) {
          const last = all.at(-1);
          const page = await read({ limit: 2, after: last === undefined ? undefined : placeOf(last) });
          all.push(...page);
          if (page.length < 2) return all;
        }
      }

      it('M7 the pages of the licenses have each license once, in order, with its seats', async () => {
        for (let count = 0; count < 5; count++) {
          // Pairs of them have the same time.
          if (count % 2 === 0) await engine.passTime(1000);
          const { keyHash } = await create(3);
          for (let used = 0; used < count % 3; used++) await activate(keyHash, `mac-000${used}`);
        }
        const walked = await walk(
          (page) => otherNode.listLicenses(page),
          ({ createdAt: at, id }) => ({ at, id }),
        );
        expect(walked).toEqual(await otherNode.listLicenses());
        expect(await otherNode.maxSeats(walked[0]?.id ?? '')).toBe(3);
        expect(await otherNode.maxSeats('lic_none')).toBe(0);
        expect(walked.map(({ seats }) => seats.used).toSorted((one, other) => one - other)).toEqual([
          0, 0, 1, 1, 2,
        ]);
      });

      it('M7 the pages of the devices have each device once, in order, also after one that is deleted', async () => {
        const { keyHash } = await create(9);
        for (let count = 0; count < 5; count++) {
          if (count % 2 === 0) await engine.passTime(1000);
          await activate(keyHash, `mac-000${count}`);
        }
        const placeOf = ({ activatedAt: at, id }: DeviceDetails) => ({ at, id });
        const all = await otherNode.listDevices({ limit: 100 });
        expect(all).toHaveLength(5);
        expect(await walk((page) => otherNode.listDevices(page), placeOf)).toEqual(all);
        const [first] = all;
        expect(await otherNode.findDevice(first?.id ?? '')).toEqual(first);
        expect(await otherNode.findDevice('dev_none')).toBeUndefined();
        const deleted = { at: engine.now() - 1, id: 'dev_deleted' };
        expect(await otherNode.listDevices({ limit: 100, after: deleted })).toEqual(all.slice(4));
      });
    });

    describe('pairing codes', () => {
      const MINUTES = 60_000;
      const LOCATION = location('loc-paired');
      const createCode = (code: string, minutes = 15) =>
        licenses.createPairingCode({
          codeHash: hashSecret(code),
          locationId: LOCATION,
          expiresAt: engine.now() + minutes * MINUTES,
        });
      const pair = (code: string, device: string, node = licenses) =>
        node.pair({
          codeHash: hashSecret(code),
          deviceId: deviceId(device),
          tokenHash: hashSecret(newDeviceToken()),
          ...DESCRIPTION,
        });

      it('M12 needs a license that owns the location', async () => {
        expect(await createCode('code')).toEqual({ kind: 'no_license' });
        expect(await pair('code', 'mac-0001')).toEqual({ kind: 'unknown_code' });
        const { license } = await create();
        await licenses.assign(LOCATION, license.id);
        const expected = { kind: 'created', licenseId: license.id, license: license.label };
        expect(await createCode('code')).toEqual(expected);
      });

      it('M8 a code becomes invalid when its location moves, also when it moves back', async () => {
        const [{ license }, { license: next }] = [await create(5), await create(5)];
        for (const elsewhere of [next.id, null]) {
          const code = `code before ${elsewhere}`;
          await licenses.assign(LOCATION, license.id);
          await createCode(code);
          await otherNode.assign(LOCATION, elsewhere);
          expect(await pair(code, 'mac-0001')).toEqual({ kind: 'unknown_code' });
          await otherNode.assign(LOCATION, license.id);
          expect(await pair(code, 'mac-0001')).toEqual({ kind: 'unknown_code' });
        }
      });

      it('M8 a claimed location gets a code while there is one license, and later once the operator confirmed it', async () => {
        const { license, keyHash } = await create();
        const deviceRow = rowOf(await activate(keyHash, 'mac-0001'));
        await licenses.claim({ locationId: LOCATION, licenseId: license.id, deviceRow }, 'auto');
        expect(await createCode('only license')).toMatchObject({ kind: 'created' });
        await create();
        expect(await createCode('claimed')).toEqual({ kind: 'claimed', license: license.label });
        expect(await locationNow(LOCATION)).toMatchObject({ claimed: true });
        await licenses.assign(LOCATION, license.id);
        expect(await locationNow(LOCATION)).toMatchObject({ claimed: false });
        await licenses.claim({ locationId: LOCATION, licenseId: license.id, deviceRow }, 'auto');
        expect(await createCode('confirmed')).toMatchObject({ kind: 'created' });
      });

      it('M12 a code activates one device, once, on any node', async () => {
        const { license } = await create(5);
        await licenses.assign(LOCATION, license.id);
        await createCode('code');
        const outcomes = await Promise.all(
          Array.from({ length: 8 }, (_, index) =>
            pair('code', `mac-000${index}`, index % 2 === 0 ? licenses : otherNode),
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
        await licenses.assign(LOCATION, license.id);
        await createCode('code');
        await activate(keyHash, 'mac-0001');
        expect(await pair('code', 'mac-0002')).toMatchObject({ activation: { kind: 'exhausted' } });
        await licenses.changeLicense(license.id, { maxSeats: 2 });
        expect(await pair('code', 'mac-0002')).toMatchObject({ activation: { kind: 'activated' } });
      });

      it('M12 an expired code is reported as such for a day', async () => {
        const { license } = await create();
        await licenses.assign(LOCATION, license.id);
        await createCode('old');
        await engine.passTime(15 * MINUTES);
        expect(await pair('old', 'mac-0001')).toEqual({ kind: 'expired_code' });
        await engine.passTime(24 * 60 * MINUTES + 1);
        await createCode('new');
        expect(await pair('old', 'mac-0001')).toEqual({ kind: 'unknown_code' });
        expect(await pair('new', 'mac-0001')).toMatchObject({ kind: 'paired' });
      });
    });

    describe('seats', () => {
      it('M7 takes one seat per device, and no second one when it activates again', async () => {
        const { license, keyHash } = await create(2);
        const [first, second] = [hashSecret('token 1'), hashSecret('token 2')];
        const fresh = await activate(keyHash, 'mac-0001', first);
        expect(fresh).toMatchObject({ kind: 'activated', again: false, seats: { used: 1, max: 2 } });
        const again = await activate(keyHash, 'mac-0001', second);
        expect(again).toMatchObject({ kind: 'activated', again: true, seats: { used: 1, max: 2 } });
        expect(rowOf(again)).toBe(rowOf(fresh));
        expect((await licenseNow(license.id)).seats).toEqual({ used: 1, max: 2 });
        const standings = await otherNode.standingsByToken([first, second]);
        expect([...standings.keys()]).toEqual([second]);
      });

      it('M7 rejects a device without a free seat, and a deactivation frees one', async () => {
        const { license, keyHash } = await create(1);
        const token = hashSecret(newDeviceToken());
        const first = await activate(keyHash, 'mac-0001', token);
        expect(await activate(keyHash, 'mac-0002')).toEqual({
          kind: 'exhausted',
          licenseId: license.id,
          seats: { used: 1, max: 1 },
        });
        expect(await otherNode.deactivate(token)).toMatchObject({ deviceRow: rowOf(first) });
        expect(await otherNode.deactivate(token)).toBeUndefined();
        expect(await activate(keyHash, 'mac-0002')).toMatchObject({ kind: 'activated', seats: { used: 1 } });
        expect(await activate(keyHash, 'mac-0001')).toMatchObject({ kind: 'exhausted' });
      });

      it('M7 lets one of 40 simultaneous activations take the only seat', async () => {
        for (let round = 0; round < 5; round++) {
          const { license, keyHash } = await create(1);
          const outcomes = await Promise.all(
            Array.from({ length: 40 }, (_, index) =>
              nodeOf(engine, index).activate({
                keyHash,
                deviceId: deviceId(`mac-race-${round}-${index}`),
                tokenHash: hashSecret(newDeviceToken()),
                ...DESCRIPTION,
              }),
            ),
          );
          expect(outcomes.filter(({ kind }) => kind === 'activated')).toHaveLength(1);
          expect(outcomes.filter(({ kind }) => kind === 'exhausted')).toHaveLength(39);
          expect((await licenseNow(license.id)).seats).toEqual({ used: 1, max: 1 });
        }
      });

      it('M7 takes one seat when a device activates several times simultaneously', async () => {
        const { license, keyHash } = await create(5);
        const tokens = Array.from({ length: 10 }, (_, index) => hashSecret(`token ${index}`));
        const outcomes = await Promise.all(
          tokens.map((tokenHash, index) =>
            nodeOf(engine, index).activate({
              keyHash,
              deviceId: deviceId('mac-0001'),
              tokenHash,
              ...DESCRIPTION,
            }),
          ),
        );
        expect(new Set(outcomes.map(rowOf)).size).toBe(1);
        expect((await licenseNow(license.id)).seats.used).toBe(1);
        expect((await otherNode.standingsByToken(tokens)).size).toBe(1);
      });

      it('M7 never exceeds the seats under load, and leaks none', async () => {
        const { license, keyHash } = await create(3);
        const checkSeats = async () =>
          expect((await licenseNow(license.id)).seats.used).toBeLessThanOrEqual(3);
        await Promise.all(
          Array.from({ length: 12 }, async (_, index) => {
            const node = nodeOf(engine, index);
            for (let turn = 0; turn < 5; turn++) {
              const tokenHash = hashSecret(newDeviceToken());
              const id = deviceId(`mac-load-${index}`);
              await node.activate({ keyHash, deviceId: id, tokenHash, ...DESCRIPTION });
              await checkSeats();
              await node.deactivate(tokenHash);
            }
          }),
        );
        expect((await licenseNow(license.id)).seats).toEqual({ used: 0, max: 3 });
        for (const device of ['mac-0001', 'mac-0002', 'mac-0003'])
          expect(await activate(keyHash, device)).toMatchObject({ kind: 'activated' });
        expect(await activate(keyHash, 'mac-0004')).toMatchObject({ kind: 'exhausted' });
      });

      it('M7 keeps the newest given-up devices of each seat, and those that the operator revoked', async () => {
        const { license, keyHash } = await create(2);
        const revoked = rowOf(await activate(keyHash, 'mac-revoked'));
        await licenses.revokeDevice(revoked);
        const count = 2 * KEPT_PER_SEAT + 5;
        for (let index = 0; index < count; index++) {
          await engine.passTime(1);
          const tokenHash = hashSecret(newDeviceToken());
          await activate(keyHash, `mac-given-up-${index}`, tokenHash);
          await otherNode.deactivate(tokenHash);
        }
        await activate(keyHash, 'mac-0001');
        const own = (await otherNode.listDevices({ limit: 1000 })).filter(
          ({ licenseId }) => licenseId === license.id,
        );
        const ids = own.map(({ deviceId: id }) => id);
        expect(ids).toHaveLength(2 * KEPT_PER_SEAT + 2);
        expect(ids).toEqual(expect.arrayContaining(['mac-revoked', 'mac-0001', `mac-given-up-${count - 1}`]));
        expect(ids).not.toContain('mac-given-up-0');
      });

      it('M7 bounds the activations of a license in a day, also those of an active device', async () => {
        const [{ license, keyHash }, other] = [await create(1), await create(1)];
        const max = activationsPerDay(1);
        for (let count = 0; count < max; count++)
          expect(await activate(keyHash, 'mac-0001')).toMatchObject({ kind: 'activated' });
        const refused = await nodeOf(engine, 1).activate({
          keyHash,
          deviceId: deviceId('mac-0001'),
          tokenHash: hashSecret(newDeviceToken()),
          ...DESCRIPTION,
        });
        expect(refused).toEqual({ kind: 'too_many', max, retryAfterSec: expect.any(Number) });
        expect(await activate(other.keyHash, 'mac-0001')).toMatchObject({ kind: 'activated' });
        expect((await licenseNow(license.id)).seats.used).toBe(1);
        const waitSec = refused.kind === 'too_many' ? refused.retryAfterSec : 0;
        await engine.passTime(waitSec * 1000);
        expect(await activate(keyHash, 'mac-0001')).toMatchObject({ kind: 'activated' });
      });

      it('M7 lets the number of seats grow, and shrink down to those taken', async () => {
        const { license, keyHash } = await create(1);
        await activate(keyHash, 'mac-0001');
        expect(await licenses.changeLicense(license.id, { maxSeats: 2 })).toMatchObject({ kind: 'changed' });
        await activate(keyHash, 'mac-0002');
        expect(await licenses.changeLicense(license.id, { maxSeats: 1 })).toEqual({
          kind: 'seats_taken',
          used: 2,
        });
        expect((await licenseNow(license.id)).seats).toEqual({ used: 2, max: 2 });
      });

      it('M7 treats the same deviceId under two licenses as two devices', async () => {
        const [one, two] = [await create(1), await create(1)];
        const rows = [await activate(one.keyHash, 'mac-0001'), await activate(two.keyHash, 'mac-0001')];
        expect(new Set(rows.map(rowOf)).size).toBe(2);
      });
    });

    describe('license states', () => {
      const STATES: readonly LicenseStatus[] = ['active', 'suspended', 'revoked'];
      const reach = async (status: LicenseStatus) => {
        const { license, keyHash } = await create(2);
        if (status !== 'active') await licenses.changeLicense(license.id, { status });
        return { license, keyHash };
      };

      for (const from of STATES)
        for (const to of STATES) {
          const allowed = from === to || mayBecome(LICENSE_TRANSITIONS, from, to);
          it(`M8 ${allowed ? 'changes' : 'does not change'} a license from ${from} to ${to}`, async () => {
            const { license } = await reach(from);
            const outcome = await otherNode.changeLicense(license.id, { status: to });
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
        await licenses.changeLicense(license.id, { status: 'suspended' });
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
        expect(await otherNode.standingsByToken([tokenHash, hashSecret('x')])).toEqual(
          new Map([[tokenHash, expected]]),
        );
        expect(await otherNode.standingsByRow([deviceRow, 'dev_none'])).toEqual(
          new Map([[deviceRow, expected]]),
        );
        expect(await otherNode.standingsByToken([])).toEqual(new Map());
      });

      it('M7 changes only the given fields of a license', async () => {
        const { license } = await create(4);
        await engine.passTime(5);
        const outcome = await licenses.changeLicense(license.id, { label: 'New name' });
        expect(outcome).toMatchObject({ kind: 'changed' });
        expect(await licenseNow(license.id)).toEqual({
          ...license,
          label: 'New name',
          updatedAt: engine.now(),
        } satisfies License);
        expect(await licenses.changeLicense('lic_none', { label: 'x' })).toEqual({ kind: 'not_found' });
      });

      it('M7 rejects a second license with the same key', async () => {
        const { keyHash } = await create();
        const twice = licenses.createLicense({ label: 'x', maxSeats: 1, keyHash, keyHint: 'ABCDE' });
        await expect(twice).rejects.toBeInstanceOf(EngineError);
      });
    });

    describe('device states', () => {
      const STATES = ['active', 'deactivated', 'revoked'] as const;
      const reach = async (status: (typeof STATES)[number]) => {
        const { keyHash } = await create(1);
        const token = hashSecret(newDeviceToken());
        const row = rowOf(await activate(keyHash, 'mac-0001', token));
        if (status === 'deactivated') await licenses.deactivate(token);
        if (status === 'revoked') await licenses.revokeDevice(row);
        return { row, keyHash, token };
      };

      for (const from of STATES) {
        it(`M8 revokes a device that is ${from}, which frees its seat and invalidates its token`, async () => {
          const { row, keyHash, token } = await reach(from);
          expect(await otherNode.revokeDevice(row)).toMatchObject({
            kind: 'changed',
            device: { status: 'revoked' },
          });
          expect(await otherNode.deactivate(token)).toBeUndefined();
          expect((await otherNode.standingsByToken([token])).get(token)?.device).toBe('revoked');
          expect(await activate(keyHash, 'mac-0001')).toEqual({ kind: 'device_revoked' });
          expect(await activate(keyHash, 'mac-0002')).toMatchObject({ kind: 'activated' });
        });
      }

      it('M8 restores a revoked device, which then activates like a new one', async () => {
        const { row, keyHash } = await reach('revoked');
        expect(await otherNode.restoreDevice(row)).toMatchObject({ device: { status: 'deactivated' } });
        expect(await activate(keyHash, 'mac-0001')).toMatchObject({ kind: 'activated', again: false });
        expect(await otherNode.restoreDevice(row)).toEqual({
          kind: 'impossible',
          from: 'active',
          to: 'deactivated',
        });
        expect(mayBecome(DEVICE_TRANSITIONS, 'revoked', 'active')).toBe(false);
      });

      it('M8 reports a device that does not exist as not found', async () => {
        expect(await licenses.revokeDevice('dev_none')).toEqual({ kind: 'not_found' });
        expect(await licenses.restoreDevice('dev_none')).toEqual({ kind: 'not_found' });
      });

      it('M8 leaves a device revoked when it is activated and revoked simultaneously', async () => {
        for (let round = 0; round < 10; round++) {
          const { row, keyHash } = await reach('deactivated');
          await Promise.all([activate(keyHash, 'mac-0001'), otherNode.revokeDevice(row)]);
          const devices = await otherNode.listDevices({ limit: 1000 });
          expect(devices.find(({ id }) => id === row)?.status).toBe('revoked');
        }
      });

      it('M7 lists devices with their description, versions and last-seen time', async () => {
        const { license, keyHash } = await create(1);
        const row = rowOf(await activate(keyHash, 'mac-0001'));
        const activatedAt = engine.now();
        await licenses.recordLastSeen([row, 'dev_none'], activatedAt + 5000);
        await licenses.updateVersions(row, { osVersion: '26.2', appVersion: '1.1.0' });
        expect(await otherNode.listDevices({ limit: 1000 })).toEqual([
          {
            id: row,
            deviceId: 'mac-0001',
            license: license.label,
            licenseId: license.id,
            name: DESCRIPTION.name,
            osVersion: '26.2',
            appVersion: '1.1.0',
            status: 'active',
            activatedAt,
            lastSeenAt: activatedAt + 5000,
          },
        ]);
        expect(await otherNode.deviceName(license.id, 'mac-0001')).toBe(DESCRIPTION.name);
        expect(await otherNode.deviceName('lic_none', 'mac-0001')).toBeUndefined();
        await licenses.recordLastSeen([], 0);
      });
    });

    describe('locations', () => {
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
        expect(await licenses.claim({ locationId, ...ours }, 'first')).toBe('owned');
        expect(await otherNode.claim({ locationId, ...theirs }, 'first')).toBe('foreign');
        expect(await otherNode.claim({ locationId, ...ours }, 'first')).toBe('owned');
        expect(await otherNode.claim({ locationId, ...ours }, 'operator')).toBe('owned');
        expect(await otherNode.owners([locationId, location('loc2')])).toEqual(new Map([[locationId, ours]]));
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
              nodeOf(engine, index).claim({ locationId, ...claimant }, 'first'),
            ),
          );
          expect(new Set([claims[0], claims[1]])).toEqual(new Set(['foreign', 'owned']));
          expect([claims[2], claims[3]]).toEqual([claims[0], claims[1]]);
        }
      });

      it('M8 lists a claimed location as unassigned when only the operator assigns locations', async () => {
        const { ours, theirs } = await pair();
        const locationId = location('loc1');
        expect(await licenses.claim({ locationId, ...ours }, 'operator')).toBe('unassigned');
        expect(await locationNow('loc1')).toEqual({
          locationId: 'loc1',
          state: 'unassigned',
          licenseId: null,
          license: null,
          claimed: false,
          lastDevice: null,
        });
        expect(await otherNode.assign(locationId, ours.licenseId)).toMatchObject({
          kind: 'changed',
          before: null,
          location: { state: 'bound', licenseId: ours.licenseId },
        });
        expect(await licenses.claim({ locationId, ...ours }, 'operator')).toBe('owned');
        expect(await licenses.claim({ locationId, ...theirs }, 'operator')).toBe('foreign');
      });

      it('M8 bounds the number of unassigned locations', async () => {
        const { ours } = await pair();
        for (let index = 0; index < engine.maxUnassigned + 5; index++) {
          const locationId = location(`made-up-${index}`);
          expect(await licenses.claim({ locationId, ...ours }, 'operator')).toBe('unassigned');
        }
        expect(await otherNode.listLocations('', 100)).toHaveLength(engine.maxUnassigned);
        // The limit does not apply to assignments by the operator.
        expect(await licenses.assign(location('wanted'), ours.licenseId)).toMatchObject({ kind: 'changed' });
      });

      it('lists each location once, page by page, whatever its id', async () => {
        const { ours } = await pair();
        const ids = ['B', 'a', '_x', 'é', 'a b', 'A', 'Z9', '9'];
        for (const id of ids) await licenses.assign(location(id), ours.licenseId);
        const listed: string[] = [];
        for (let after: string | undefined = ''; after !== undefined; after = listed.at(-1)) {
          const page = await otherNode.listLocations(after, 3);
          if (page.length === 0) break;
          listed.push(...page.map(({ locationId }) => locationId));
        }
        expect(listed.toSorted()).toEqual(ids.toSorted());
      });

      it('M8 assigns a location to another license, or releases it', async () => {
        const { ours, theirs } = await pair();
        const locationId = location('loc1');
        await licenses.claim({ locationId, ...ours }, 'first');
        expect(await otherNode.assign(locationId, theirs.licenseId)).toMatchObject({
          kind: 'changed',
          before: ours.licenseId,
          location: { state: 'bound', licenseId: theirs.licenseId, deviceRow: null },
        });
        expect(await licenses.claim({ locationId, ...ours }, 'first')).toBe('foreign');
        expect(await licenses.assign(locationId, null)).toMatchObject({
          kind: 'changed',
          location: { state: 'released', licenseId: null },
        });
        expect(await licenses.claim({ locationId, ...ours }, 'operator')).toBe('unassigned');
        expect(await licenses.claim({ locationId, ...ours }, 'first')).toBe('owned');
      });

      it('M4 knows when a location was handed over to another device', async () => {
        const { ours, theirs } = await pair();
        const claim = (id: string, claimant: typeof ours) =>
          licenses.claim({ locationId: location(id), ...claimant }, 'first');
        const since = engine.now();
        for (const id of ['loc1', 'loc2', 'loc3']) await claim(id, ours);
        await engine.passTime(1000);
        await claim('loc1', ours);
        expect(await otherNode.handovers(since)).toEqual(new Map());
        await claim('loc1', { ...ours, deviceRow: theirs.deviceRow });
        await otherNode.assign(location('loc2'), theirs.licenseId);
        await engine.passTime(1000);
        await claim('loc2', theirs);
        const both = new Map(['loc1', 'loc2'].map((id) => [id, since + 1000]));
        expect(await otherNode.handovers(since)).toEqual(both);
        expect(await otherNode.handovers(since, 'loc2')).toEqual(new Map([['loc2', since + 1000]]));
        expect(await otherNode.handovers(since + 1001)).toEqual(new Map());
      });

      it('M8 assigns a location before the first Mac connects, but not to an unknown or revoked license', async () => {
        const { ours, theirs } = await pair();
        expect(await licenses.assign(location('new'), ours.licenseId)).toMatchObject({ kind: 'changed' });
        expect(await licenses.assign(location('new'), 'lic_none')).toEqual({ kind: 'no_such_license' });
        await licenses.changeLicense(theirs.licenseId, { status: 'revoked' });
        expect(await licenses.assign(location('new'), theirs.licenseId)).toEqual({ kind: 'no_such_license' });
        expect(await licenses.assign(location('unknown'), null)).toEqual({ kind: 'not_found' });
        expect(await licenses.listLocations('', 100)).toHaveLength(1);
        expect(await locationNow('unknown')).toBeUndefined();
      });

      it('M8 lists owned locations, and deletes those that no license owns', async () => {
        const { ours } = await pair();
        const [owned, mistyped] = [location('loc1'), location('loc2')];
        await licenses.claim({ locationId: owned, ...ours }, 'first');
        await licenses.claim({ locationId: mistyped, ...ours }, 'operator');
        expect(await otherNode.ownedLocations(2)).toEqual(['loc1']);
        await licenses.assign(location('loc3'), ours.licenseId);
        expect(await otherNode.ownedLocations(1)).toEqual(['loc1']);
        expect(await otherNode.deleteLocation(owned)).toBe('owned');
        expect(await otherNode.deleteLocation(mistyped)).toBe('deleted');
        expect(await locationNow('loc2')).toBeUndefined();
        expect(await licenses.deleteLocation(mistyped)).toBe('not_found');
        expect(await licenses.claim({ locationId: mistyped, ...ours }, 'first')).toBe('owned');
      });

      it('M4 knows that a location had another device before it was deleted', async () => {
        const { ours, theirs } = await pair();
        const locationId = location('loc1');
        const since = engine.now();
        await licenses.claim({ locationId, ...ours }, 'first');
        await licenses.assign(locationId, null);
        await engine.passTime(1000);
        expect(await licenses.deleteLocation(locationId)).toBe('deleted');
        await engine.passTime(1000);
        await licenses.claim({ locationId, ...theirs }, 'first');
        expect(await otherNode.handovers(since)).toEqual(new Map([['loc1', since + 1000]]));
        await engine.passTime(1000);
        await licenses.claim({ locationId, ...theirs, deviceRow: ours.deviceRow }, 'first');
        expect(await otherNode.handovers(since, 'loc1')).toEqual(new Map([['loc1', since + 3000]]));
        expect(await otherNode.handovers(since + 3001)).toEqual(new Map());
      });

      it('M8 does not release an unassigned location', async () => {
        const { ours } = await pair();
        await licenses.claim({ locationId: location('loc1'), ...ours }, 'operator');
        expect(await licenses.assign(location('loc1'), null)).toEqual({
          kind: 'impossible',
          from: 'unassigned',
          to: 'released',
        });
      });
    });
  });
}

const DESCRIPTION = { name: 'Front desk', osVersion: '26.1', appVersion: '1.0.0' };

function nodeOf(engine: LicensesEngine, index: number): Licenses {
  return engine.nodes[index % engine.nodes.length] ?? expect.fail('an engine needs a node');
}

function rowOf(activation: Activation): string {
  return activation.kind === 'activated' ? activation.deviceRow : expect.fail(activation.kind);
}

function deviceId(text: string): DeviceId {
  return asDeviceId(text) ?? expect.fail('not a device id');
}

function location(text: string): LocationId {
  return asLocationId(text) ?? expect.fail('not a location');
}
