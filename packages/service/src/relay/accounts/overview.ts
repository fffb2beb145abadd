import type { Clock } from '@footbridge/runtime/clock';

import { MAX_BATCH, batches, nextTurn } from '../../platform/batcher.ts';
import type { DeviceDetails, Devices } from './devices-sql.ts';
import type { License, Licenses } from './licenses-sql.ts';
import type { LocationDetails, Locations } from './locations-sql.ts';
import type { TimedPage } from '../../platform/timed-page.ts';
import type { BoundMac, MacView, StateReport, Switchboard } from '../switchboard/switchboard.ts';
import type { CrmGrants, LocationGrant } from '../crm/tokens.ts';
import { Slot } from '../../platform/extension-points.ts';
import type { TakeOvers } from './token-use.ts';

export interface OverviewDeps {
  readonly licenses: Pick<Licenses, 'list'>;
  readonly devices: Pick<Devices, 'list' | 'find' | 'name'>;
  readonly locations: Pick<Locations, 'owners' | 'find' | 'list'>;
  readonly switchboard: Pick<Switchboard, 'boundMacs' | 'viewMacs'>;
  readonly grants: Slot<Pick<CrmGrants, 'listLocationIds' | 'ofLocations'>>;
  readonly clock: Clock;
  /** Take-overs of a device that this node has seen. */
  readonly takeOvers: (deviceRow: string) => TakeOvers;
}

export interface DeviceOverview extends DeviceDetails {
  /** The locations that the device holds now, on any node. */
  readonly connectedTo: readonly string[];
  readonly takeOvers: TakeOvers;
}

export interface LocationOverview extends LocationDetails {
  /** The operator's name for the location, if it has one. */
  readonly name?: string;
  /** The Mac that holds the location now. */
  readonly connected: ConnectedMac | null;
  readonly oauth: Omit<LocationGrant, 'ownerId'> | null;
}

/** A place in the list of all locations: stored locations come first, then locations with only a grant. */
export interface LocationPlace {
  readonly list: 'stored' | 'granted';
  readonly id: string;
}

export interface LocationsPage {
  readonly limit: number;
  readonly after: LocationPlace | undefined;
  readonly only: readonly string[] | undefined;
}

export interface PlacedLocation {
  readonly list: LocationPlace['list'];
  readonly location: LocationOverview;
}

interface PlacedDetails {
  readonly list: LocationPlace['list'];
  readonly details: LocationDetails;
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

/** Resolves with the names of the locations that have one. */
export type NamesOf = (locationIds: readonly string[]) => Promise<ReadonlyMap<string, string>>;

const MANY = 200;
const RECENT_MS = 1000;

/** Licenses, devices and locations with the connected Macs, for the operator. */
export class Overview {
  readonly names = new Slot<NamesOf>('overview.names', () => Promise.resolve(new Map()));
  readonly #deps: OverviewDeps;
  #recent: { readonly at: number; readonly locations: readonly LocationOverview[] } | undefined;

  constructor(deps: OverviewDeps) {
    this.#deps = deps;
  }

  async licenses(page?: TimedPage): Promise<License[]> {
    return await this.#deps.licenses.list(page);
  }

  async devices(page: TimedPage): Promise<DeviceOverview[]> {
    return await this.#withConnections(await this.#deps.devices.list(page));
  }

  async device(id: string): Promise<DeviceOverview | undefined> {
    const device = await this.#deps.devices.find(id);
    return device === undefined ? undefined : (await this.#withConnections([device]))[0];
  }

  async #withConnections(devices: readonly DeviceDetails[]): Promise<DeviceOverview[]> {
    const { locations, switchboard } = this.#deps;
    const ids = new Set(devices.map(({ deviceId }) => deviceId));
    const macs = (await switchboard.boundMacs()).filter(({ deviceId }) => ids.has(deviceId));
    const owners = await locations.owners(macs.map(({ locationId }) => locationId));
    const held = new Map<string, string[]>();
    for (const { locationId, deviceId } of macs) {
      const key = deviceKey(owners.get(locationId)?.licenseId, deviceId);
      held.set(key, [...(held.get(key) ?? []), locationId]);
    }
    return devices.map((device) => {
      const connectedTo = held.get(deviceKey(device.licenseId, device.deviceId)) ?? [];
      const lastSeenAt = connectedTo.length > 0 ? this.#deps.clock.now() : device.lastSeenAt;
      return { ...device, lastSeenAt, connectedTo, takeOvers: this.#deps.takeOvers(device.id) };
    });
  }

  /** Locations that a license owns, that a Mac requested, or that only have a grant. Ordered by id. */
  async locations(): Promise<LocationOverview[]> {
    const all: LocationOverview[] = [];
    for await (const page of this.pages(await this.macs())) all.push(...page);
    return all.sort((one, other) => (one.locationId < other.locationId ? -1 : 1));
  }

  macs(): Promise<MacView> {
    return this.#deps.switchboard.viewMacs();
  }

  /** Yields the same locations page by page, in any order, for callers that must not keep thousands of them in memory. */
  async *pages(macs: MacView): AsyncGenerator<LocationOverview[]> {
    const { locations, grants } = this.#deps;
    // Read first: a granted location that is claimed after its page was read is still listed, as unassigned until the next read.
    const granted = new Set(await grants.value.listLocationIds());
    let page: LocationDetails[];
    let after = '';
    do {
      page = await locations.list(after, MAX_BATCH);
      for (const { locationId } of page) granted.delete(locationId);
      after = page.at(-1)?.locationId ?? after;
      yield await this.#complete(page, macs);
      // There may be thousands: lets webhooks run in between.
      await nextTurn();
    } while (page.length === MAX_BATCH);
    for (const only of batches([...granted])) {
      yield await this.#complete(only.map(unassigned), macs);
      await nextTurn();
    }
  }

  /** Resolves with a page of the locations after a place. Reads no further location. `only`: leaves out other ids. */
  async locationsPage({ limit, after, only }: LocationsPage): Promise<PlacedLocation[]> {
    const macs = await this.macs();
    const page: PlacedLocation[] = [];
    for await (const batch of only === undefined ? this.#after(after) : this.#of(only, after)) {
      const some = batch.slice(0, limit - page.length);
      const locations = await this.#complete(
        some.map(({ details }) => details),
        macs,
      );
      page.push(...locations.map((location, at) => ({ list: some[at]?.list ?? 'stored', location })));
      if (page.length === limit) break;
      await nextTurn();
    }
    return page;
  }

  async *#after(place: LocationPlace | undefined): AsyncGenerator<PlacedDetails[]> {
    const { locations, grants } = this.#deps;
    let after = place?.id ?? '';
    if (place?.list !== 'granted') {
      let page: LocationDetails[];
      do {
        page = await locations.list(after, MAX_BATCH);
        after = page.at(-1)?.locationId ?? after;
        yield page.map((details) => ({ list: 'stored', details }));
      } while (page.length === MAX_BATCH);
      after = '';
    }
    let ids: string[];
    do {
      ids = await grants.value.listLocationIds({ after, limit: MAX_BATCH });
      after = ids.at(-1) ?? after;
      const stored = new Set((await locations.find(ids)).map(({ locationId }) => locationId));
      yield ids.filter((id) => !stored.has(id)).map((id) => ({ list: 'granted', details: unassigned(id) }));
    } while (ids.length === MAX_BATCH);
  }

  async *#of(ids: readonly string[], place: LocationPlace | undefined): AsyncGenerator<PlacedDetails[]> {
    const { locations, grants } = this.#deps;
    for (const some of batches(ids.toSorted().filter((id) => id > (place?.id ?? '')))) {
      const stored = new Map((await locations.find(some)).map((one) => [one.locationId, one]));
      const granted = new Set((await grants.value.ofLocations(some)).map(({ ownerId }) => ownerId));
      yield some
        .filter((id) => stored.has(id) || granted.has(id))
        .map((id) => ({ list: 'stored', details: stored.get(id) ?? unassigned(id) }));
    }
  }

  /** Like `locations`, but up to a second old when there are many: reading them is then slow, and the console requests them often. */
  async recentLocations(): Promise<readonly LocationOverview[]> {
    const at = this.#deps.clock.monotonic();
    if (this.#recent !== undefined && at - this.#recent.at < RECENT_MS) return this.#recent.locations;
    const locations = await this.locations();
    this.#recent = locations.length < MANY ? undefined : { at, locations };
    return locations;
  }

  async location(locationId: string): Promise<LocationOverview | undefined> {
    const [found] = await this.#deps.locations.find([locationId]);
    const [location] = await this.#complete([found ?? unassigned(locationId)], await this.macs());
    // If the database lost its row, a connected Mac can still be shown and disconnected.
    const isKnown = found !== undefined || location?.oauth !== null || location.connected !== null;
    return isKnown ? location : undefined;
  }

  /** Adds the names, the grants and the connected Macs. */
  async #complete(page: readonly LocationDetails[], macs: MacView): Promise<LocationOverview[]> {
    const ids = page.map(({ locationId }) => locationId);
    const [names, grants] = await Promise.all([
      this.names.value(ids),
      this.#deps.grants.value.ofLocations(ids),
    ]);
    const states = new Map(
      grants.map(({ ownerId, state, expiresAt, lastError }) => [ownerId, { state, expiresAt, lastError }]),
    );
    const locations: LocationOverview[] = [];
    for (const details of page) {
      const mac = macs.get(details.locationId);
      const name = names.get(details.locationId);
      locations.push({
        ...details,
        ...(name !== undefined && { name }),
        connected: mac === undefined ? null : connectedMac(mac, (await this.#nameOf(mac, details)) ?? ''),
        oauth: states.get(details.locationId) ?? null,
      });
    }
    return locations;
  }

  /** The name of the Mac that holds a location, which is usually the last Mac that bound it. */
  #nameOf({ deviceId }: BoundMac, { licenseId, lastDevice }: LocationDetails) {
    if (lastDevice?.deviceId === deviceId) return lastDevice.name;
    return licenseId === null ? undefined : this.#deps.devices.name(licenseId, deviceId);
  }
}

const unassigned = (locationId: string): LocationDetails => ({
  locationId,
  state: 'unassigned',
  licenseId: null,
  license: null,
  claimed: false,
  lastDevice: null,
});

/** A deviceId is unique only within its license. Only Macs of the license that owns a location can hold it. */
const deviceKey = (licenseId: string | null | undefined, deviceId: string) => `${licenseId} ${deviceId}`;

const connectedMac = (
  { deviceId, since, node, epoch, stateReport }: BoundMac,
  name: string,
): ConnectedMac => ({ deviceId, name, since, node, epoch, stateReport: stateReport ?? null });
