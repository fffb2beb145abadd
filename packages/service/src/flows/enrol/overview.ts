import type { Clock } from '@footbridge/runtime/clock';

import { batches, nextTurn } from '../../batcher.ts';
import type { Device, DeviceName, License, Licenses, Location } from '../../ports/licenses/licenses.ts';
import type { LocationState } from '../../ports/licenses/transitions.ts';
import type { BoundMac, StateReport, Switchboard } from '../../ports/switchboard/switchboard.ts';
import type { TakeOvers } from './token-use.ts';

/** The grant of a location. */
export interface GrantState {
  readonly state: string;
  readonly expiresAt: number | null;
  readonly lastError: string | null;
}

export interface OverviewDeps {
  readonly licenses: Pick<Licenses, 'listLicenses' | 'listDevices' | 'listDeviceNames' | 'listLocations'>;
  readonly switchboard: Pick<Switchboard, 'boundMacs'>;
  readonly grantStates: () => Promise<ReadonlyMap<string, GrantState>>;
  readonly clock: Clock;
  /** Take-overs of a device that this node has seen. */
  readonly takeOvers: (deviceRow: string) => TakeOvers;
}

export interface DeviceOverview extends Device {
  readonly license: string;
  /** The locations that the device holds now, on any node. */
  readonly connectedTo: readonly string[];
  readonly takeOvers: TakeOvers;
}

export interface LocationOverview {
  readonly locationId: string;
  readonly state: LocationState;
  readonly licenseId: string | null;
  readonly license: string | null;
  /** The Mac that holds the location now. */
  readonly connected: ConnectedMac | null;
  /** The device that bound the location last. */
  readonly lastDevice: Pick<Device, 'id' | 'deviceId' | 'name' | 'lastSeenAt'> | null;
  readonly oauth: GrantState | null;
}

export interface ConnectedMac {
  readonly deviceId: string;
  readonly name: string;
  readonly since: number;
  readonly node: string;
  readonly epoch: number;
  /** What the Mac reported about itself; null before its first report. */
  readonly stateReport: StateReport | null;
}

const MANY = 200;
const RECENT_MS = 1000;

/** Licenses, devices and locations with the connected Macs, for the operator. */
export class Overview {
  readonly #deps: OverviewDeps;
  #recent: { readonly at: number; readonly locations: readonly LocationOverview[] } | undefined;

  constructor(deps: OverviewDeps) {
    this.#deps = deps;
  }

  async licenses(): Promise<License[]> {
    return await this.#deps.licenses.listLicenses();
  }

  async devices(): Promise<DeviceOverview[]> {
    const { licenses, switchboard } = this.#deps;
    const [labels, devices, locations, macs] = await Promise.all([
      this.#labels(),
      licenses.listDevices(),
      this.#locationsById(),
      switchboard.boundMacs(),
    ]);
    const held = new Map<string, string[]>();
    for (const { locationId, deviceId } of macs) {
      const key = nameOf(locations.get(locationId)?.licenseId, deviceId);
      held.set(key, [...(held.get(key) ?? []), locationId]);
    }
    return devices.map((device) => {
      const connectedTo = held.get(nameOf(device.licenseId, device.deviceId)) ?? [];
      const lastSeenAt = connectedTo.length > 0 ? this.#deps.clock.now() : device.lastSeenAt;
      const takeOvers = this.#deps.takeOvers(device.id);
      return { ...device, lastSeenAt, connectedTo, takeOvers, license: labels.get(device.licenseId) ?? '' };
    });
  }

  async device(id: string): Promise<DeviceOverview | undefined> {
    return (await this.devices()).find((device) => device.id === id);
  }

  /** Locations that a license owns or a Mac requested, and those that only have a grant. */
  async locations(): Promise<LocationOverview[]> {
    const { licenses, switchboard, grantStates } = this.#deps;
    const [labels, devices, locations, macs, grants] = await Promise.all([
      this.#labels(),
      licenses.listDeviceNames(),
      this.#locationsById(),
      switchboard.boundMacs({ withStates: true }),
      grantStates(),
    ]);
    const macByLocation = new Map(macs.map((mac) => [String(mac.locationId), mac]));
    const byRow = new Map(devices.map((device) => [device.id, device]));
    let byName: ReadonlyMap<string, DeviceName> | undefined;
    const namedDevice = (licenseId: string | null, deviceId: string) => {
      byName ??= new Map(devices.map((device) => [nameOf(device.licenseId, device.deviceId), device]));
      return byName.get(nameOf(licenseId, deviceId));
    };
    const ids = new Set([...locations.keys(), ...grants.keys(), ...macByLocation.keys()]);
    const all: LocationOverview[] = [];
    for (const some of batches([...ids].toSorted())) {
      for (const locationId of some) {
        const { state = 'unassigned', licenseId = null, deviceRow = null } = locations.get(locationId) ?? {};
        const last = byRow.get(deviceRow ?? '');
        const mac = macByLocation.get(locationId);
        const device = last?.deviceId === mac?.deviceId ? last : mac && namedDevice(licenseId, mac.deviceId);
        all.push({
          locationId,
          state,
          licenseId,
          license: licenseId === null ? null : (labels.get(licenseId) ?? null),
          connected: mac === undefined ? null : connectedMac(mac, device?.name ?? ''),
          lastDevice: last === undefined ? null : lastDevice(last),
          oauth: grants.get(locationId) ?? null,
        });
      }
      // There may be thousands: lets webhooks run in between.
      await nextTurn();
    }
    return all;
  }

  /** The same, at most a second old when there are many: reading them is then slow, and pages request them often. */
  async recentLocations(): Promise<readonly LocationOverview[]> {
    const at = this.#deps.clock.monotonic();
    if (this.#recent !== undefined && at - this.#recent.at < RECENT_MS) return this.#recent.locations;
    const locations = await this.locations();
    this.#recent = locations.length < MANY ? undefined : { at, locations };
    return locations;
  }

  async location(locationId: string): Promise<LocationOverview | undefined> {
    return (await this.locations()).find((location) => location.locationId === locationId);
  }

  async #labels(): Promise<ReadonlyMap<string, string>> {
    return new Map((await this.#deps.licenses.listLicenses()).map(({ id, label }) => [id, label]));
  }

  async #locationsById(): Promise<ReadonlyMap<string, Location>> {
    const all = await this.#deps.licenses.listLocations();
    return new Map(all.map((location) => [location.locationId, location]));
  }
}

/** A deviceId is unique only within its license. Only Macs of the license that owns a location can hold it. */
const nameOf = (licenseId: string | null | undefined, deviceId: string) => `${licenseId} ${deviceId}`;

const lastDevice = ({ id, deviceId, name, lastSeenAt }: DeviceName) => ({ id, deviceId, name, lastSeenAt });

const connectedMac = (
  { deviceId, since, node, epoch, stateReport }: BoundMac,
  name: string,
): ConnectedMac => ({ deviceId, name, since, node, epoch, stateReport: stateReport ?? null });
