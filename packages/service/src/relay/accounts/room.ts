import { addressKey } from '../../platform/http/client-address.ts';
import type { Host } from '../../platform/host.ts';
import { RecentOccurrences } from '../../platform/recent-occurrences.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import { Slot } from '../../platform/extension-points.ts';
import type { CrmGrants } from '../crm/tokens.ts';
import type { Switchboard } from '../switchboard/switchboard.ts';
import type { AccountTables } from './account-tables-sql.ts';
import { exhaustedSeats } from './find-exhausted-seats.ts';
import { Enrolment } from './activate-device.ts';
import { DeviceAuth } from './authenticate-device.ts';
import { LocationClaims } from './claim-location.ts';
import { devicesRoutes } from './devices-routes.ts';
import { enrolmentRoutes } from './enrolment-routes.ts';
import { LastSeen } from './last-seen.ts';
import type { Locations } from './locations-sql.ts';
import { licensesRoutes } from './licenses-routes.ts';
import type { Liveness } from './liveness.ts';
import { locationsRoutes } from './locations-routes.ts';
import { LicenseAdmin } from './manage-licenses.ts';
import type { ACCOUNTS } from './settings.ts';
import { Overview } from './overview.ts';
import type { LocationOverview } from './overview.ts';
import { TokenUse } from './token-use.ts';

const HOUR_MS = 3_600_000;

export interface AccountsDeps {
  readonly tables: AccountTables;
  readonly switchboard: Switchboard;
  readonly grants: Slot<CrmGrants>;
}

export interface AccountsRoom {
  readonly deviceAuth: DeviceAuth;
  readonly claims: LocationClaims;
  readonly lastSeen: LastSeen;
  readonly tokenUse: TokenUse;
  readonly overview: Overview;
  /** Resolves with the licenses of locations that have one. */
  ownersOf: Locations['owners'];
  /** Whether texts get through the line of a location. */
  readonly liveness: Slot<(location: LocationOverview) => Liveness | null>;
}

/** Licenses, their seats, the Macs that take them, and who owns a location. */
export function openAccounts(
  host: Host,
  { tables, switchboard, grants }: AccountsDeps,
  { locationClaim, enrolmentPerMinute }: ValuesOf<typeof ACCOUNTS>,
): AccountsRoom {
  const { changes, clock, log, metrics, limits, auditLog: audit } = host;
  const deviceAuth = new DeviceAuth({ devices: tables.devices, changes, clock, log });
  host.stops('device authentication', () => deviceAuth.close());
  const claims = new LocationClaims({ locations: tables.locations, changes, mode: locationClaim });
  host.stops('location claims', () => claims.close());
  const lastSeen = new LastSeen({ devices: tables.devices, clock, log });
  host.stops('last seen', () => lastSeen.close());
  const tokenUse = new TokenUse({ clock, log, takenOver: metrics.takenOver });
  const licenseAdmin = new LicenseAdmin({ ...tables, changes, audit, switchboard, grants, clock });
  const overview = new Overview({
    ...tables,
    switchboard,
    clock,
    grants,
    takeOvers: (deviceRow) => tokenUse.of(deviceRow),
  });
  const seatsRefused = new RecentOccurrences(() => clock.now(), HOUR_MS);
  const enrolment = new Enrolment({
    ...tables,
    changes,
    audit,
    seatRefused: (licenseId) => seatsRefused.add(licenseId),
  });
  const liveness: AccountsRoom['liveness'] = new Slot('accounts.liveness');
  host.publicRoutes(enrolmentRoutes({ enrolment, limits, addressKey, perMinute: enrolmentPerMinute }));
  host.operatorRoutes(
    licensesRoutes({ licenseAdmin, overview }),
    devicesRoutes({ licenseAdmin, overview }),
    locationsRoutes({
      licenseAdmin,
      overview,
      liveness: (location) => liveness.value(location),
      publicUrl: host.publicUrl,
    }),
  );
  host.finds({
    async find() {
      const all = await overview.licenses();
      metrics.seats({
        used: all.reduce((sum, { seats }) => sum + seats.used, 0),
        max: all.reduce((sum, { seats }) => sum + seats.max, 0),
      });
      // A copy: more may be refused while the locations are read.
      const refused = new Map(seatsRefused.all());
      const locationIds = refused.size === 0 ? new Map() : await locationsOf(refused);
      const seats = all.map((license) => ({ ...license, locationIds: locationIds.get(license.id) ?? [] }));
      return exhaustedSeats(seats, refused);
    },
  });
  return {
    deviceAuth,
    claims,
    lastSeen,
    tokenUse,
    overview,
    liveness,
    ownersOf: (locationIds) => tables.locations.owners(locationIds),
  };

  async function locationsOf(wanted: { has(licenseId: string): boolean }): Promise<Map<string, string[]>> {
    const byLicense = new Map<string, string[]>();
    for await (const page of overview.pages(await overview.macs()))
      for (const { locationId, licenseId } of page)
        if (licenseId !== null && wanted.has(licenseId))
          byLicense.set(licenseId, [...(byLicense.get(licenseId) ?? []), locationId].sort());
    return byLicense;
  }
}
