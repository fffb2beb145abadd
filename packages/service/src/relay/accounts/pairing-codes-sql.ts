import type { LocationId } from '@footbridge/protocol/ids';

import type { SqlDevices } from './devices-sql.ts';
import type { PairingCodeOutcome, PairingOutcome, PairingRequest } from './licenses.ts';
import { licensesBesides } from './accounts-sql.ts';
import type { SqlStore } from './accounts-sql.ts';

const KEPT_MS = 24 * 3600_000;

/** Codes that activate one device for the license of a location. */
export class SqlPairingCodes {
  readonly #store: SqlStore;
  readonly #devices: SqlDevices;

  constructor(store: SqlStore, devices: SqlDevices) {
    this.#store = store;
    this.#devices = devices;
  }

  async create(code: {
    codeHash: string;
    locationId: LocationId;
    expiresAt: number;
  }): Promise<PairingCodeOutcome> {
    return await this.#store.change('a pairing code cannot be stored', async (tx) => {
      const location = await this.#store.lockLocation(tx, code.locationId);
      const licenseId = location?.license_id ?? null;
      if (location === undefined || licenseId === null) return { kind: 'no_license' };
      const [owner, other] = await licensesBesides(tx, licenseId);
      if (owner === undefined) return { kind: 'no_license' };
      // Whose Mac came first says nothing about whose location it is (T64).
      if (location.confirmed === 0 && other !== undefined) return { kind: 'claimed', license: owner.label };
      const now = this.#store.clock.now();
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
    });
  }

  async pair(request: PairingRequest): Promise<PairingOutcome> {
    return await this.#store.change('a device cannot be paired', async (tx) => {
      const code = await this.#store.lockPairingCode(tx, request.codeHash);
      if (code === undefined) return { kind: 'unknown_code' };
      if (code.used_at !== null) return { kind: 'used_code' };
      const now = this.#store.clock.now();
      if (code.expires_at <= now) return { kind: 'expired_code' };
      const location = await tx
        .selectFrom('locations')
        .select('license_id')
        .where('location_id', '=', code.location_id)
        .executeTakeFirst();
      const id = location?.license_id ?? null;
      if (id === null || id !== code.license_id) return { kind: 'unknown_code' };
      const license = await this.#store.lockLicense(tx, { id });
      if (license === undefined) return { kind: 'unknown_code' };
      const activation = await this.#devices.activateFor(tx, license, request, code.location_id);
      if (activation.kind === 'activated')
        await tx
          .updateTable('pairing_codes')
          .set({ used_at: now })
          .where('code_hash', '=', code.code_hash)
          .execute();
      return { kind: 'paired', locationId: code.location_id, activation };
    });
  }
}
