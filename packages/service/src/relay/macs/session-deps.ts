import type { LocationId } from '@footbridge/protocol/ids';

import type { AuthStatus, DeviceIdentity } from '../accounts/authenticate-device.ts';
import type { Admittance } from '../accounts/claim-location.ts';
import type { Lease } from '../switchboard/switchboard.ts';

/** Events for metrics and logs. */
export interface MacEvents {
  bound(lease: Lease, displaced: boolean): void;
  gone(lease: Lease): void;
  locationContended(locationId: LocationId, deviceId: string, waitSec: number): void;
  frameIgnored(reason: 'unknown_type' | 'invalid_state'): void;
  /** An unconfirmed frame was written again. */
  repeated(): void;
  /** The node could not confirm that it holds the location. */
  leaseLost(): void;
}

/** Admission checks at `register`. They run again there because the license may have changed since the upgrade. */
export interface Admission {
  confirm(device: DeviceIdentity): Promise<AuthStatus>;
  claim(locationId: LocationId, device: DeviceIdentity): Promise<Admittance>;
  introduced(device: DeviceIdentity, versions: { osVersion: string; appVersion: string }): void;
}
