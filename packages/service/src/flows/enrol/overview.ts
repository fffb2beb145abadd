import type { Clock } from '../../clock.ts';
import type { Device, License, Licenses, Location } from '../../ports/licenses/licenses.ts';
import type { LocationState } from '../../ports/licenses/transitions.ts';
import type { Occupant, Switchboard } from '../../ports/switchboard/switchboard.ts';

/** What is known of a location's grant; comes from whoever keeps grants. */
export interface GrantState {
  readonly state: string;
  readonly expiresAt: number | null;
  readonly lastError: string | null;
}

export interface OverviewDeps {
  readonly licenses: Pick<Licenses, 'listLicenses' | 'listDevices' | 'listLocations'>;
  readonly switchboard: Pick<Switchboard, 'occupants'>;
  readonly grantStates: () => Promise<ReadonlyMap<string, GrantState>>;
  readonly clock: Clock;
}

export interface DeviceOverview extends Device {
  readonly license: string;
  /** The locations it holds at this moment, on any node. */
  readonly connectedTo: readonly string[];
}

export interface LocationOverview {
  readonly locationId: string;
  readonly state: LocationState;
  readonly licenseId: string | null;
  readonly license: string | null;
  /** Who holds it at this moment. */
  readonly connected: ConnectedMac | null;
  /** Who bound it last. */
  readonly lastDevice: { readonly id: string; readonly deviceId: string; readonly name: string } | null;
  readonly oauth: GrantState | null;
}

export interface ConnectedMac {
  readonly deviceId: string;
  readonly name: string;
  readonly since: number;
  readonly node: string;
  readonly epoch: number;
}

/** Licenses, devices and locations together with who is connected, as the operator sees them. */
export class Overview {
  readonly #deps: OverviewDeps;

  constructor(deps: OverviewDeps) {
    this.#deps = deps;
  }

  async licenses(): Promise<License[]> {
    return await this.#deps.licenses.listLicenses();
  }

  async devices(): Promise<DeviceOverview[]> {
    const { devices, labels, occupants, locations } = await this.#read();
    const held = new Map<string, string[]>();
    for (const { locationId, deviceId } of occupants) {
      const key = nameOf(locations.get(locationId)?.licenseId, deviceId);
      held.set(key, [...(held.get(key) ?? []), locationId]);
    }
    return devices.map((device) => {
      const connectedTo = held.get(nameOf(device.licenseId, device.deviceId)) ?? [];
      const lastSeenAt = connectedTo.length > 0 ? this.#deps.clock.now() : device.lastSeenAt;
      return { ...device, lastSeenAt, connectedTo, license: labels.get(device.licenseId) ?? '' };
    });
  }

  async device(id: string): Promise<DeviceOverview | undefined> {
    return (await this.devices()).find((device) => device.id === id);
  }

  /** Those that a license or a Mac asked for, and those that only have a grant so far. */
  async locations(): Promise<LocationOverview[]> {
    const { devices, labels, occupants, locations, grants } = await this.#read();
    const occupied = new Map(occupants.map((occupant) => [String(occupant.locationId), occupant]));
    const byRow = new Map(devices.map((device) => [device.id, device]));
    const byName = new Map(devices.map((device) => [nameOf(device.licenseId, device.deviceId), device]));
    const ids = new Set([...locations.keys(), ...grants.keys(), ...occupied.keys()]);
    return [...ids].toSorted().map((locationId) => {
      const { state = 'unassigned', licenseId = null, deviceRow = null } = locations.get(locationId) ?? {};
      const last = byRow.get(deviceRow ?? '');
      return {
        locationId,
        state,
        licenseId,
        license: licenseId === null ? null : (labels.get(licenseId) ?? null),
        connected: connectedMac(occupied.get(locationId), byName, licenseId),
        lastDevice: last === undefined ? null : { id: last.id, deviceId: last.deviceId, name: last.name },
        oauth: grants.get(locationId) ?? null,
      };
    });
  }

  async location(locationId: string): Promise<LocationOverview | undefined> {
    return (await this.locations()).find((location) => location.locationId === locationId);
  }

  async #read() {
    const { licenses, switchboard, grantStates } = this.#deps;
    const [all, devices, locations, occupants, grants] = await Promise.all([
      licenses.listLicenses(),
      licenses.listDevices(),
      licenses.listLocations(),
      switchboard.occupants(),
      grantStates(),
    ]);
    return {
      labels: new Map(all.map(({ id, label }) => [id, label])),
      devices,
      locations: new Map<string, Location>(locations.map((location) => [location.locationId, location])),
      occupants,
      grants,
    };
  }
}

/** A deviceId is unique only within its license, and a location is held only by Macs of the license that owns it. */
const nameOf = (licenseId: string | null | undefined, deviceId: string) => `${licenseId} ${deviceId}`;

function connectedMac(
  occupant: Occupant | undefined,
  devices: ReadonlyMap<string, Device>,
  licenseId: string | null,
): ConnectedMac | null {
  if (occupant === undefined) return null;
  const { deviceId, since, node, epoch } = occupant;
  const name = devices.get(nameOf(licenseId, deviceId))?.name ?? '';
  return { deviceId, name, since, node, epoch };
}
