import { asDeviceId } from '@footbridge/protocol/ids';

import type { Audit } from '../../ports/audit/audit.ts';
import type { Changes } from '../../ports/changes/changes.ts';
import type { Activation, ActivationRequest, Licenses, Seats } from '../../ports/licenses/licenses.ts';
import { hashSecret, isDeviceToken, newDeviceToken } from '../../ports/licenses/secret-hash.ts';
import { readLicenseKey } from './license-key.ts';

export interface EnrolmentDeps {
  readonly licenses: Pick<Licenses, 'activate' | 'deactivate'>;
  readonly changes: Pick<Changes, 'announce'>;
  readonly audit: Pick<Audit, 'record'>;
}

export type Enrolled =
  | {
      readonly kind: 'activated';
      readonly deviceToken: string;
      readonly again: boolean;
      readonly seats: Seats;
    }
  | { readonly kind: 'invalid'; readonly fault: string }
  /** Mistyped, unknown or revoked: nobody is told which. */
  | { readonly kind: 'refused_key' }
  | Extract<Activation, { kind: 'suspended' | 'device_revoked' | 'exhausted' }>;

/** License → device (M7): a key and a stable device id take one seat and give a token, shown once. */
export class Enrolment {
  readonly #deps: EnrolmentDeps;

  constructor(deps: EnrolmentDeps) {
    this.#deps = deps;
  }

  async activate(body: unknown): Promise<Enrolled> {
    const request = readRequest(body);
    if (typeof request === 'string') return { kind: 'invalid', fault: request };
    const key = readLicenseKey(request.licenseKey);
    if (key === undefined) return { kind: 'refused_key' };
    const deviceToken = newDeviceToken();
    const outcome = await this.#deps.licenses.activate({
      ...request.device,
      keyHash: hashSecret(key),
      tokenHash: hashSecret(deviceToken),
    });
    if (outcome.kind === 'unknown_key') return { kind: 'refused_key' };
    if (outcome.kind !== 'activated') return outcome;
    const { deviceRow, licenseId, again, seats } = outcome;
    // A socket that was opened with the former token has to go; of a new device nobody knows yet.
    if (again) await this.#deps.changes.announce('device', deviceRow);
    await this.#deps.audit.record({
      actor: 'mac',
      action: 'device.activated',
      target: deviceRow,
      detail: { licenseId, again, seatsUsed: seats.used },
    });
    return { kind: 'activated', deviceToken, again, seats };
  }

  /** Frees the seat of the device that shows this token; false when no active device does. */
  async deactivate(token: string): Promise<boolean> {
    if (!isDeviceToken(token)) return false;
    const device = await this.#deps.licenses.deactivate(hashSecret(token));
    if (device === undefined) return false;
    const { deviceRow, licenseId } = device;
    await this.#deps.changes.announce('device', deviceRow);
    await this.#deps.audit.record({
      actor: 'mac',
      action: 'device.deactivated',
      target: deviceRow,
      detail: { licenseId },
    });
    return true;
  }
}

const LONGEST_KEY = 200;
const LONGEST_LABEL = 128;

type Device = Pick<ActivationRequest, 'deviceId' | 'name' | 'osVersion' | 'appVersion'>;

/** The request in its exact types, or what is wrong with it. */
function readRequest(body: unknown): { licenseKey: string; device: Device } | string {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return 'The body must be a JSON object.';
  const field = (name: string): unknown => (Object.hasOwn(body, name) ? Reflect.get(body, name) : undefined);
  const licenseKey = field('licenseKey');
  if (typeof licenseKey !== 'string' || licenseKey.trim() === '' || licenseKey.length > LONGEST_KEY)
    return 'licenseKey must be the key of the license, as the operator gave it.';
  const deviceId = asDeviceId(field('deviceId'));
  if (deviceId === undefined)
    return 'deviceId must be 8 to 128 of the characters A–Z, a–z, 0–9, dot, underscore, colon and dash.';
  const name = label(field('name'));
  const osVersion = label(field('osVersion'));
  const appVersion = label(field('appVersion'));
  if (name === undefined) return `name must be a text of at most ${LONGEST_LABEL} characters.`;
  if (osVersion === undefined) return `osVersion must be a text of at most ${LONGEST_LABEL} characters.`;
  if (appVersion === undefined) return `appVersion must be a text of at most ${LONGEST_LABEL} characters.`;
  return { licenseKey, device: { deviceId, name, osVersion, appVersion } };
}

/** Control characters mean nothing in a name, and PostgreSQL refuses one of them. Absent is empty. */
function label(value: unknown): string | undefined {
  if (value === undefined) return '';
  if (typeof value !== 'string' || value.length > LONGEST_LABEL) return undefined;
  return value
    .replaceAll(/\p{Cc}/gu, ' ')
    .toWellFormed()
    .trim();
}
