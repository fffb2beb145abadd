import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';

import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { rowLocks } from './accounts-sql.ts';
import { Devices } from './devices-sql.ts';
import { Licenses } from './licenses-sql.ts';
import { Locations } from './locations-sql.ts';
import { PairingCodes } from './pairing-codes-sql.ts';

export interface AccountTablesDeps {
  readonly database: Pick<OpenDatabase, 'db' | 'engine'>;
  readonly clock: Clock;
  readonly failpoint?: Failpoint | undefined;
  /** Unassigned locations are stored for the operator. The limit keeps Macs with invented locations from filling the table. */
  readonly maxUnassigned?: number;
}

export interface AccountTables {
  readonly licenses: Licenses;
  readonly devices: Devices;
  readonly locations: Locations;
  readonly pairingCodes: PairingCodes;
}

/**
 * Licenses, the devices that take their seats, and the locations they own.
 *
 * - States change only as `transitions.ts` allows.
 * - Keys, codes and tokens are passed in as hashes and never returned.
 * - When the database is unavailable, every method rejects with EngineError.
 */
export function createAccountTables({
  database: { db, engine },
  clock,
  failpoint,
  maxUnassigned = 1000,
}: AccountTablesDeps): AccountTables {
  const locks = rowLocks(engine);
  const devices = new Devices({ db, locks, clock, failpoint });
  return {
    licenses: new Licenses({ db, locks, clock }),
    devices,
    locations: new Locations({ db, locks, clock, maxUnassigned }),
    pairingCodes: new PairingCodes({ db, locks, clock, devices }),
  };
}
