import type { DeviceId, LocationId } from '@footbridge/protocol/ids';

import type { DeviceStatus, LicenseStatus, LocationState } from './transitions.ts';

export interface Seats {
  readonly used: number;
  readonly max: number;
}

export interface License {
  readonly id: string;
  readonly label: string;
  /** The last group of the key, so that people can tell licenses apart. */
  readonly keyHint: string;
  readonly status: LicenseStatus;
  readonly seats: Seats;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface LicenseChange {
  readonly status?: LicenseStatus;
  readonly maxSeats?: number;
  readonly label?: string;
}

export interface Device {
  /** Ours; `deviceId` is the Mac's own name and unique only within its license. */
  readonly id: string;
  readonly deviceId: string;
  readonly licenseId: string;
  readonly name: string;
  readonly osVersion: string;
  readonly appVersion: string;
  readonly status: DeviceStatus;
  readonly activatedAt: number;
  readonly lastSeenAt: number;
}

export interface DeviceDescription {
  readonly name: string;
  readonly osVersion: string;
  readonly appVersion: string;
}

export interface Location {
  readonly locationId: string;
  readonly state: LocationState;
  readonly licenseId: string | null;
  /** The device that bound it last. */
  readonly deviceRow: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface ActivationRequest extends DeviceDescription {
  readonly keyHash: string;
  readonly deviceId: DeviceId;
  /** The hash of the token that this device will show from now on. */
  readonly tokenHash: string;
}

export type Activation =
  | {
      readonly kind: 'activated';
      readonly deviceRow: string;
      readonly licenseId: string;
      /** The device was active before: an old token died. */
      readonly again: boolean;
      readonly seats: Seats;
    }
  /** There is no such key, or it was revoked: nobody learns which. */
  | { readonly kind: 'unknown_key' }
  | { readonly kind: 'suspended' }
  | { readonly kind: 'device_revoked' }
  | { readonly kind: 'exhausted'; readonly seats: Seats };

/** A device as it stands now, together with its license. */
export interface Standing {
  readonly deviceRow: string;
  readonly deviceId: string;
  readonly licenseId: string;
  readonly tokenHash: string;
  readonly osVersion: string;
  readonly appVersion: string;
  readonly device: DeviceStatus;
  readonly license: LicenseStatus;
}

export interface Owner {
  readonly licenseId: string;
  readonly deviceRow: string | null;
}

export type Refused =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'impossible'; readonly from: string; readonly to: string };

export type LicenseChanged =
  | { readonly kind: 'changed'; readonly license: License; readonly before: LicenseStatus }
  /** Fewer seats than are taken. */
  | { readonly kind: 'seats_taken'; readonly used: number }
  | Refused;

export type DeviceChanged = { readonly kind: 'changed'; readonly device: Device } | Refused;

export type Assigned =
  | { readonly kind: 'changed'; readonly location: Location; readonly before: string | null }
  | { readonly kind: 'no_such_license' }
  | Refused;

/** `owned`: the license has the location (from now on). `foreign`: another one has it. `unassigned`: the operator has to assign it. */
export type Claim = 'owned' | 'foreign' | 'unassigned';

/**
 * Licenses, the devices that take their seats, and the locations they own.
 *
 * - States change only along `transitions.ts`.
 * - Seats are counted under a lock: `activate` never lets more devices be active than the license has seats, however many ask at once, on however many nodes.
 * - Of several licenses that claim a free location at once, one gets it.
 * - Keys and tokens come as hashes and are never given out.
 * - When the engine is down, every call rejects with EngineError and nothing has changed.
 */
export interface Licenses {
  createLicense(license: {
    label: string;
    maxSeats: number;
    keyHash: string;
    keyHint: string;
  }): Promise<License>;
  changeLicense(id: string, change: LicenseChange): Promise<LicenseChanged>;
  /** Oldest first. */
  listLicenses(): Promise<License[]>;

  activate(request: ActivationRequest): Promise<Activation>;
  /** Answers the row of the device that held the token, or undefined when no active device did. */
  deactivate(tokenHash: string): Promise<{ deviceRow: string; licenseId: string } | undefined>;
  revokeDevice(deviceRow: string): Promise<DeviceChanged>;
  /** A revoked device may activate again. */
  restoreDevice(deviceRow: string): Promise<DeviceChanged>;
  listDevices(): Promise<Device[]>;
  /** The devices that show these tokens, by token hash, whatever their state. */
  standingsByToken(tokenHashes: readonly string[]): Promise<Map<string, Standing>>;
  /** These devices, by row. */
  standingsByRow(deviceRows: readonly string[]): Promise<Map<string, Standing>>;
  /** These devices were there at this moment. */
  seen(deviceRows: readonly string[], at: number): Promise<void>;
  /** The Mac runs other versions than at its activation. */
  updated(deviceRow: string, versions: { osVersion: string; appVersion: string }): Promise<void>;

  /** Takes a free location when `mode` allows it, and notes which device came last. */
  claim(
    claim: { locationId: LocationId; licenseId: string; deviceRow: string },
    mode: 'first' | 'operator',
  ): Promise<Claim>;
  /** Who owns these locations; those without an owner are left out. */
  owners(locationIds: readonly LocationId[]): Promise<Map<LocationId, Owner>>;
  /** Gives a location to a license, or to nobody. */
  assign(locationId: LocationId, licenseId: string | null): Promise<Assigned>;
  listLocations(): Promise<Location[]>;
}
