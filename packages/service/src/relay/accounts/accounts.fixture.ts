import { asDeviceId, asLocationId } from '@footbridge/protocol/ids';
import type { DeviceId, LocationId } from '@footbridge/protocol/ids';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { beforeEach, expect } from 'vitest';

import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import type { TimedPage, TimedPlace } from '../../platform/timed-page.ts';
import { createAccountTables } from './account-tables-sql.ts';
import type { AccountTables } from './account-tables-sql.ts';
import type { Activation } from './devices-sql.ts';
import { hashSecret, newDeviceToken } from './secret-hash.ts';

export const MAX_UNASSIGNED = 10;
export const DESCRIPTION = { name: 'Front desk', osVersion: '26.1', appVersion: '1.0.0' };

/** The tables of this room on a new database for each test. In PostgreSQL two processes share it. */
export class Accounts {
  #clock = new FakeClock();
  #nodes: AccountTables[] = [];
  #created = 0;

  open(databases: readonly OpenDatabase[]): void {
    const clock = new FakeClock();
    this.#clock = clock;
    this.#nodes = databases.map((database) =>
      createAccountTables({ database, clock, maxUnassigned: MAX_UNASSIGNED }),
    );
  }

  readonly node = (index: number): AccountTables =>
    this.#nodes[index % this.#nodes.length] ?? expect.fail('no database');

  readonly here = (): AccountTables => this.node(0);

  /** Another process that shares the database, if one can. */
  readonly other = (): AccountTables => this.node(this.#nodes.length - 1);

  readonly now = (): number => this.#clock.now();

  readonly passTime = (ms: number): Promise<void> => this.#clock.advance(ms);

  readonly create = async (maxSeats = 1) => {
    const keyHash = hashSecret(`key ${++this.#created}`);
    const license = await this.here().licenses.create({
      label: 'Office',
      maxSeats,
      keyHash,
      keyHint: 'ABCDE',
    });
    return { license, keyHash };
  };

  readonly activate = (keyHash: string, device: string, tokenHash = hashSecret(newDeviceToken())) =>
    this.here().devices.activate({ keyHash, deviceId: deviceId(device), tokenHash, ...DESCRIPTION });

  readonly licenseNow = async (id: string) => {
    const all = await this.other().licenses.list();
    return all.find((one) => one.id === id) ?? expect.fail('no such license');
  };

  readonly locationNow = async (locationId: string) => (await this.other().locations.find([locationId]))[0];
}

export function onAccounts(
  what: string,
  tests: (accounts: Accounts, database: () => OpenDatabase) => void,
): void {
  onBothDatabases(what, (open, engine, openAgain) => {
    const accounts = new Accounts();
    let database: OpenDatabase | undefined;
    beforeEach(async () => {
      database = await open();
      accounts.open(engine === 'postgres' ? [database, await openAgain(database)] : [database]);
    });
    tests(accounts, () => database ?? expect.fail('no database'));
  });
}

export function rowOf(activation: Activation): string {
  return activation.kind === 'activated' ? activation.deviceRow : expect.fail(activation.kind);
}

export function deviceId(text: string): DeviceId {
  return asDeviceId(text) ?? expect.fail('not a device id');
}

export function location(text: string): LocationId {
  return asLocationId(text) ?? expect.fail('not a location');
}

/** Reads a list in pages of 2, whose last one is shorter. */
export async function walk<T>(
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
