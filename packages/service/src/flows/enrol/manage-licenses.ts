import type { LocationId } from '@footbridge/protocol/ids';

import type { Audit, AuditDetail } from '../../ports/audit/audit.ts';
import type { Changes, Topic } from '../../ports/changes/changes.ts';
import type {
  Assigned,
  DeviceChanged,
  License,
  LicenseChange,
  LicenseChanged,
  Licenses,
} from '../../ports/licenses/licenses.ts';
import { hashSecret } from '../../ports/licenses/secret-hash.ts';
import type { Switchboard } from '../../ports/switchboard/switchboard.ts';
import { newLicenseKey } from './license-key.ts';

export interface LicenseDeskDeps {
  readonly licenses: Pick<
    Licenses,
    'createLicense' | 'changeLicense' | 'revokeDevice' | 'restoreDevice' | 'assign'
  >;
  readonly changes: Pick<Changes, 'announce'>;
  readonly audit: Pick<Audit, 'record'>;
  readonly switchboard: Pick<Switchboard, 'disconnect'>;
}

/**
 * What the operator does with licenses, devices and locations. Every deed is stored, told to all nodes, which act on
 * their sockets, and written into the audit trail. Doing the same again tells everybody again.
 */
export class LicenseDesk {
  readonly #deps: LicenseDeskDeps;

  constructor(deps: LicenseDeskDeps) {
    this.#deps = deps;
  }

  /** The key is part of the answer and of nothing else, ever. */
  async createLicense(wish: { label: string; maxSeats: number }): Promise<{ license: License; key: string }> {
    const key = newLicenseKey();
    const keyHash = hashSecret(key.symbols);
    const license = await this.#deps.licenses.createLicense({ ...wish, keyHash, keyHint: key.hint });
    await this.#note('license.created', license.id, { maxSeats: wish.maxSeats });
    return { license, key: key.shown };
  }

  async changeLicense(id: string, change: LicenseChange): Promise<LicenseChanged> {
    const outcome = await this.#deps.licenses.changeLicense(id, change);
    if (outcome.kind !== 'changed') return outcome;
    const { status, seats } = outcome.license;
    await this.#tell('license', id);
    await this.#note('license.changed', id, { from: outcome.before, to: status, maxSeats: seats.max });
    return outcome;
  }

  async revokeDevice(deviceRow: string): Promise<DeviceChanged> {
    return await this.#deviceChanged('device.revoked', await this.#deps.licenses.revokeDevice(deviceRow));
  }

  async restoreDevice(deviceRow: string): Promise<DeviceChanged> {
    return await this.#deviceChanged('device.restored', await this.#deps.licenses.restoreDevice(deviceRow));
  }

  async #deviceChanged(action: string, outcome: DeviceChanged): Promise<DeviceChanged> {
    if (outcome.kind !== 'changed') return outcome;
    await this.#tell('device', outcome.device.id);
    await this.#note(action, outcome.device.id, { licenseId: outcome.device.licenseId });
    return outcome;
  }

  /** Gives the location to a license, or with null to nobody. */
  async assignLocation(locationId: LocationId, licenseId: string | null): Promise<Assigned> {
    const outcome = await this.#deps.licenses.assign(locationId, licenseId);
    if (outcome.kind !== 'changed') return outcome;
    await this.#tell('location', locationId);
    const action = licenseId === null ? 'location.released' : 'location.assigned';
    await this.#note(action, locationId, { from: outcome.before, to: licenseId });
    return outcome;
  }

  /** Sends away the Mac that holds the location; it may come back. */
  async disconnectLocation(locationId: LocationId): Promise<void> {
    await this.#deps.switchboard.disconnect(locationId);
    await this.#note('location.disconnected', locationId, {});
  }

  async #tell(topic: Topic, subject: string): Promise<void> {
    await this.#deps.changes.announce(topic, subject);
  }

  async #note(action: string, target: string, detail: AuditDetail): Promise<void> {
    await this.#deps.audit.record({ actor: 'operator', action, target, detail });
  }
}
