import { asDeviceId } from '@footbridge/protocol/ids';

import type { Audit } from '../../platform/operator/audit-sql.ts';
import type { Changes } from '../../platform/changes/changes.ts';
import type { Activation, Devices, NewDevice } from './devices-sql.ts';
import type { Seats } from './licenses-sql.ts';
import type { PairingCodes } from './pairing-codes-sql.ts';
import { hashSecret, isDeviceToken, newDeviceToken } from './secret-hash.ts';
import { readLicenseKey } from './license-key.ts';
import { readPairingCode } from './pairing-code.ts';

export interface EnrolmentDeps {
  readonly devices: Pick<Devices, 'activate' | 'deactivate'>;
  readonly pairingCodes: Pick<PairingCodes, 'pair'>;
  readonly changes: Pick<Changes, 'announce'>;
  readonly audit: Pick<Audit, 'record'>;
  /** A Mac was refused because all seats of the license are taken. */
  readonly seatRefused: (licenseId: string) => void;
}

export type Enrolled =
  | {
      readonly kind: 'activated';
      readonly deviceToken: string;
      readonly again: boolean;
      readonly seats: Seats;
    }
  | { readonly kind: 'invalid'; readonly fault: string }
  /** Mistyped, unknown or revoked. The caller cannot tell which. */
  | { readonly kind: 'rejected_key' }
  | Extract<Activation, { kind: 'suspended' | 'device_revoked' | 'exhausted' | 'too_many' }>;

export type Paired =
  | (Extract<Enrolled, { kind: 'activated' }> & { readonly locationId: string })
  | Exclude<Enrolled, { kind: 'activated' }>
  /** Mistyped or never created. */
  | { readonly kind: 'unknown_code' }
  | { readonly kind: 'used_code' }
  | { readonly kind: 'expired_code' };

/** Activates devices (M7): a license key and a stable device id take one seat. The device token is returned once. */
export class Enrolment {
  readonly #deps: EnrolmentDeps;

  constructor(deps: EnrolmentDeps) {
    this.#deps = deps;
  }

  async activate(body: unknown): Promise<Enrolled> {
    const request = readRequest(body, 'licenseKey', KEY_RULE);
    if (typeof request === 'string') return { kind: 'invalid', fault: request };
    const key = readLicenseKey(request.secret);
    if (key === undefined) return { kind: 'rejected_key' };
    const deviceToken = newDeviceToken();
    const outcome = await this.#deps.devices.activate({
      ...request.device,
      keyHash: hashSecret(key),
      tokenHash: hashSecret(deviceToken),
    });
    return await this.#enrolled(outcome, deviceToken);
  }

  /** Activates a device with a pairing code, which also names its location (M12). */
  async pair(body: unknown): Promise<Paired> {
    const request = readRequest(body, 'code', CODE_RULE);
    if (typeof request === 'string') return { kind: 'invalid', fault: request };
    const code = readPairingCode(request.secret);
    if (code === undefined) return { kind: 'unknown_code' };
    const deviceToken = newDeviceToken();
    const outcome = await this.#deps.pairingCodes.pair({
      ...request.device,
      codeHash: hashSecret(code),
      tokenHash: hashSecret(deviceToken),
    });
    if (outcome.kind !== 'paired') return outcome;
    const enrolled = await this.#enrolled(outcome.activation, deviceToken);
    return enrolled.kind === 'activated' ? { ...enrolled, locationId: outcome.locationId } : enrolled;
  }

  async #enrolled(outcome: Activation, deviceToken: string): Promise<Enrolled> {
    if (outcome.kind === 'unknown_key') return { kind: 'rejected_key' };
    if (outcome.kind === 'exhausted') this.#deps.seatRefused(outcome.licenseId);
    if (outcome.kind !== 'activated') return outcome;
    const { deviceRow, licenseId, again, seats } = outcome;
    // A socket with the previous token must be closed. A new device has none.
    if (again) await this.#deps.changes.announce('device', deviceRow);
    await this.#deps.audit.record({
      actor: 'mac',
      name: null,
      action: 'device.activated',
      target: deviceRow,
      detail: { licenseId, again, seatsUsed: seats.used },
    });
    return { kind: 'activated', deviceToken, again, seats };
  }

  /** Frees the seat of the device that has this token. Resolves with false when no active device has it. */
  async deactivate(token: string): Promise<boolean> {
    if (!isDeviceToken(token)) return false;
    const device = await this.#deps.devices.deactivate(hashSecret(token));
    if (device === undefined) return false;
    const { deviceRow, licenseId } = device;
    await this.#deps.changes.announce('device', deviceRow);
    await this.#deps.audit.record({
      actor: 'mac',
      name: null,
      action: 'device.deactivated',
      target: deviceRow,
      detail: { licenseId },
    });
    return true;
  }
}

const MAX_SECRET_LENGTH = 200;
const MAX_LABEL_LENGTH = 128;

const KEY_RULE = 'licenseKey must be the key of the license, as the operator gave it.';
const CODE_RULE = 'code must be the pairing code, as the operator gave it.';

type Device = Omit<NewDevice, 'tokenHash'>;

/** Returns the parsed request, or a message about its fault. */
function readRequest(
  body: unknown,
  secretName: 'licenseKey' | 'code',
  secretRule: string,
): { secret: string; device: Device } | string {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return 'The body must be a JSON object.';
  const field = (name: string): unknown => (Object.hasOwn(body, name) ? Reflect.get(body, name) : undefined);
  const secret = field(secretName);
  if (typeof secret !== 'string' || secret.trim() === '' || secret.length > MAX_SECRET_LENGTH)
    return secretRule;
  const deviceId = asDeviceId(field('deviceId'));
  if (deviceId === undefined)
    return 'deviceId must be 8 to 128 of the characters A–Z, a–z, 0–9, dot, underscore, colon and dash.';
  const name = label(field('name'));
  const osVersion = label(field('osVersion'));
  const appVersion = label(field('appVersion'));
  if (name === undefined) return `name must be a text of at most ${MAX_LABEL_LENGTH} characters.`;
  if (osVersion === undefined) return `osVersion must be a text of at most ${MAX_LABEL_LENGTH} characters.`;
  if (appVersion === undefined) return `appVersion must be a text of at most ${MAX_LABEL_LENGTH} characters.`;
  return { secret, device: { deviceId, name, osVersion, appVersion } };
}

/** Replaces control characters, since PostgreSQL rejects NUL. A missing label is empty. */
function label(value: unknown): string | undefined {
  if (value === undefined) return '';
  if (typeof value !== 'string' || value.length > MAX_LABEL_LENGTH) return undefined;
  return value
    .replaceAll(/\p{Cc}/gu, ' ')
    .toWellFormed()
    .trim();
}
