import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';

import type { Audit, AuditDetail } from '../../platform/operator/audit-sql.ts';
import type { Changes, Topic } from '../../platform/changes/changes.ts';
import type { DeviceChangeOutcome, Devices } from './devices-sql.ts';
import type { License, LicenseChange, LicenseChangeOutcome, Licenses } from './licenses-sql.ts';
import type { AssignOutcome, Locations } from './locations-sql.ts';
import type { PairingCodeOutcome, PairingCodes } from './pairing-codes-sql.ts';
import type { CrmGrants } from '../crm/tokens.ts';
import type { Slot } from '../../platform/extension-points.ts';
import { hashSecret } from './secret-hash.ts';
import type { Switchboard } from '../switchboard/switchboard.ts';
import { newLicenseKey } from './license-key.ts';
import { newPairingCode } from './pairing-code.ts';

export interface LicenseAdminDeps {
  readonly licenses: Pick<Licenses, 'create' | 'change'>;
  readonly devices: Pick<Devices, 'revoke' | 'restore'>;
  readonly locations: Pick<Locations, 'assign' | 'find' | 'delete'>;
  readonly pairingCodes: Pick<PairingCodes, 'create'>;
  readonly changes: Pick<Changes, 'announce'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly switchboard: Pick<Switchboard, 'disconnect'>;
  readonly grants: Slot<Pick<CrmGrants, 'has' | 'remove'>>;
  readonly clock: Pick<Clock, 'now'>;
}

/** `in_use`: a license owns the location, or it has tokens. */
export type DeleteOutcome =
  | { readonly kind: 'deleted' }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'in_use'; readonly license: string | null; readonly hasTokens: boolean };

const PAIRING_CODE_VALID_MS = 15 * 60_000;

export interface PairingCode {
  readonly kind: 'created';
  readonly code: string;
  readonly expiresAt: number;
  /** The license whose seat the Mac takes. */
  readonly licenseId: string;
  readonly license: string;
}

/**
 * The operator's changes of licenses, devices and locations. Each change is stored, announced to all nodes, which close the
 * sockets it affects, and recorded in the audit log with the name of the operator (`by`). Repeating a change announces it again.
 */
export class LicenseAdmin {
  readonly #deps: LicenseAdminDeps;

  constructor(deps: LicenseAdminDeps) {
    this.#deps = deps;
  }

  /** The result is the only place where the key appears. */
  async createLicense(
    request: { label: string; maxSeats: number },
    by: string,
  ): Promise<{ license: License; key: string }> {
    const key = newLicenseKey();
    const keyHash = hashSecret(key.symbols);
    const license = await this.#deps.licenses.create({ ...request, keyHash, keyHint: key.hint });
    await this.#record(by, 'license.created', license.id, { maxSeats: request.maxSeats });
    return { license, key: key.shown };
  }

  async changeLicense(id: string, change: LicenseChange, by: string): Promise<LicenseChangeOutcome> {
    const outcome = await this.#deps.licenses.change(id, change);
    if (outcome.kind !== 'changed') return outcome;
    const { status, seats } = outcome.license;
    await this.#announce('license', id);
    await this.#record(by, 'license.changed', id, { from: outcome.before, to: status, maxSeats: seats.max });
    return outcome;
  }

  async revokeDevice(deviceRow: string, by: string): Promise<DeviceChangeOutcome> {
    return await this.#deviceChanged(by, 'device.revoked', await this.#deps.devices.revoke(deviceRow));
  }

  async restoreDevice(deviceRow: string, by: string): Promise<DeviceChangeOutcome> {
    return await this.#deviceChanged(by, 'device.restored', await this.#deps.devices.restore(deviceRow));
  }

  async #deviceChanged(
    by: string,
    action: string,
    outcome: DeviceChangeOutcome,
  ): Promise<DeviceChangeOutcome> {
    if (outcome.kind !== 'changed') return outcome;
    await this.#announce('device', outcome.device.id);
    await this.#record(by, action, outcome.device.id, { licenseId: outcome.device.licenseId });
    return outcome;
  }

  /** Assigns the location to a license, or releases it with null. */
  async assignLocation(locationId: LocationId, licenseId: string | null, by: string): Promise<AssignOutcome> {
    const outcome = await this.#deps.locations.assign(locationId, licenseId);
    if (outcome.kind !== 'changed') return outcome;
    await this.#announce('location', locationId);
    // After the response, no text may reach a Mac of the previous license.
    if (outcome.before !== licenseId) await this.#deps.switchboard.disconnect(locationId, 'moved');
    const action = licenseId === null ? 'location.released' : 'location.assigned';
    await this.#record(by, action, locationId, { from: outcome.before, to: licenseId });
    return outcome;
  }

  /** Deletes the location. If it is in use, this needs `confirmed`, disconnects its Mac and deletes its tokens. */
  async deleteLocation(locationId: LocationId, confirmed: boolean, by: string): Promise<DeleteOutcome> {
    const { locations, grants } = this.#deps;
    const [found] = await locations.find([locationId]);
    const hasTokens = await grants.value.has(locationId);
    if (found === undefined && !hasTokens) return { kind: 'not_found' };
    const license = found?.license ?? null;
    if (!confirmed && (license !== null || hasTokens)) return { kind: 'in_use', license, hasTokens };
    if (license !== null) await this.assignLocation(locationId, null, by);
    if (hasTokens) await grants.value.remove(locationId);
    // A Mac may have claimed it meanwhile.
    if ((await locations.delete(locationId)) === 'owned')
      return { kind: 'in_use', license, hasTokens: false };
    await this.#announce('location', locationId);
    await this.#record(by, 'location.deleted', locationId, { from: found?.licenseId ?? null, hasTokens });
    return { kind: 'deleted' };
  }

  /**
   * Creates a code that activates one Mac for the location within 15 minutes (M12). The result is the only place where it appears.
   * With several licenses, the operator has to have confirmed which one owns the location (M8).
   */
  async createPairingCode(
    locationId: LocationId,
    by: string,
  ): Promise<PairingCode | Exclude<PairingCodeOutcome, { kind: 'created' }>> {
    const { shown, symbols } = newPairingCode();
    const expiresAt = this.#deps.clock.now() + PAIRING_CODE_VALID_MS;
    const codeHash = hashSecret(symbols);
    const outcome = await this.#deps.pairingCodes.create({ codeHash, locationId, expiresAt });
    if (outcome.kind !== 'created') return outcome;
    const { licenseId } = outcome;
    await this.#record(by, 'location.pairing_code_created', locationId, { licenseId });
    return { ...outcome, code: shown, expiresAt };
  }

  /** Disconnects the Mac that holds the location. The Mac may reconnect. */
  async disconnectLocation(locationId: LocationId, by: string): Promise<void> {
    await this.#deps.switchboard.disconnect(locationId, 'closed');
    await this.#record(by, 'location.disconnected', locationId, {});
  }

  async #announce(topic: Topic, subject: string): Promise<void> {
    await this.#deps.changes.announce(topic, subject);
  }

  async #record(by: string, action: string, target: string, detail: AuditDetail): Promise<void> {
    await this.#deps.audit.record({ actor: 'operator', name: by, action, target, detail });
  }
}
