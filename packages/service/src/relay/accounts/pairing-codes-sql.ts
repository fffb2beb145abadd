import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';

import { guarded } from '../../platform/sql/queries.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import { licensesBesides } from './accounts-sql.ts';
import type { RowLocks } from './accounts-sql.ts';
import type { Activation, Devices, NewDevice } from './devices-sql.ts';

export interface PairingRequest extends NewDevice {
  readonly codeHash: string;
}

export type PairingCodeOutcome =
  | { readonly kind: 'created'; readonly licenseId: string; readonly license: string }
  | { readonly kind: 'no_license' }
  /** A Mac claimed the location, there are several licenses, and the operator has not confirmed it. */
  | { readonly kind: 'claimed'; readonly license: string };

export type PairingOutcome =
  | { readonly kind: 'paired'; readonly locationId: string; readonly activation: Activation }
  /** Never created, removed a day after it ended, or its location has moved to another license or to none. */
  | { readonly kind: 'unknown_code' }
  | { readonly kind: 'used_code' }
  | { readonly kind: 'expired_code' };

const KEPT_MS = 24 * 3600_000;

const queried = guarded('pairing codes cannot be read or changed: the database failed');

interface PairingCodesDeps {
  readonly db: Database;
  readonly locks: RowLocks;
  readonly clock: Clock;
  readonly devices: Pick<Devices, 'activateFor'>;
}

/**
 * Codes that activate one device, also when several present it at once (M12), for the license that owned the location when the code was
 * made. A code becomes invalid when the location moves (M8).
 */
export class PairingCodes {
  readonly #db: Database;
  readonly #locks: RowLocks;
  readonly #clock: Clock;
  readonly #devices: PairingCodesDeps['devices'];

  constructor({ db, locks, clock, devices }: PairingCodesDeps) {
    this.#db = db;
    this.#locks = locks;
    this.#clock = clock;
    this.#devices = devices;
  }

  /** Creates a code for the license that owns the location. Removes codes that ended a day ago. */
  async create(code: {
    codeHash: string;
    locationId: LocationId;
    expiresAt: number;
  }): Promise<PairingCodeOutcome> {
    return await queried(() =>
      this.#db.transaction().execute(async (tx) => {
        const location = await this.#locks.location(tx, code.locationId);
        const licenseId = location?.license_id ?? null;
        if (location === undefined || licenseId === null) return { kind: 'no_license' };
        const [owner, other] = await licensesBesides(tx, licenseId);
        if (owner === undefined) return { kind: 'no_license' };
        // Whose Mac came first says nothing about whose location it is (T64).
        if (location.confirmed === 0 && other !== undefined) return { kind: 'claimed', license: owner.label };
        const now = this.#clock.now();
        await tx
          .deleteFrom('pairing_codes')
          .where('expires_at', '<', now - KEPT_MS)
          .execute();
        await tx
          .insertInto('pairing_codes')
          .values({
            code_hash: code.codeHash,
            location_id: code.locationId,
            license_id: licenseId,
            created_at: now,
            expires_at: code.expiresAt,
            used_at: null,
          })
          .execute();
        return { kind: 'created', licenseId, license: owner.label };
      }),
    );
  }

  /** Activates a device for the license and the location of the code. The code is used up only when that succeeds. */
  async pair(request: PairingRequest): Promise<PairingOutcome> {
    return await queried(() =>
      this.#db.transaction().execute(async (tx) => {
        const code = await this.#locks.pairingCode(tx, request.codeHash);
        if (code === undefined) return { kind: 'unknown_code' };
        if (code.used_at !== null) return { kind: 'used_code' };
        const now = this.#clock.now();
        if (code.expires_at <= now) return { kind: 'expired_code' };
        const location = await tx
          .selectFrom('locations')
          .select(['license_id', 'confirmed'])
          .where('location_id', '=', code.location_id)
          .executeTakeFirst();
        const id = location?.license_id ?? null;
        if (id === null || id !== code.license_id) return { kind: 'unknown_code' };
        const [, other] = await licensesBesides(tx, id);
        // There was one license when the code was made.
        if (location?.confirmed === 0 && other !== undefined) return { kind: 'unknown_code' };
        const license = await this.#locks.license(tx, { id });
        if (license === undefined) return { kind: 'unknown_code' };
        const activation = await this.#devices.activateFor(tx, license, request, code.location_id);
        if (activation.kind === 'activated')
          await tx
            .updateTable('pairing_codes')
            .set({ used_at: now })
            .where('code_hash', '=', code.code_hash)
            .execute();
        return { kind: 'paired', locationId: code.location_id, activation };
      }),
    );
  }
}
