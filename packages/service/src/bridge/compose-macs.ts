import type { FastifyInstance } from 'fastify';

import type { IssueOccurrences } from './compose-issues.ts';
import type { BridgeContext } from './context.ts';
import { addressKey } from '../edges/http/client-address.ts';
import type { UpgradeRoute } from '../edges/http/listener.ts';
import { rejectUpgrade } from '../edges/http/reject-upgrade.ts';
import { assetUploadRoutes } from '../edges/mac/asset-routes.ts';
import type { AssetUploadDeps } from '../edges/mac/asset-routes.ts';
import { enrolmentRoutes } from '../edges/mac/enrolment-routes.ts';
import { createMacGateway } from '../edges/mac/mac-gateway.ts';
import type { GatewayDeps } from '../edges/mac/mac-gateway.ts';
import { devicesRoutes } from '../edges/operator/devices-routes.ts';
import { licensesRoutes } from '../edges/operator/licenses-routes.ts';
import { locationsRoutes } from '../edges/operator/locations-routes.ts';
import type { LocationRoutesDeps } from '../edges/operator/locations-routes.ts';
import { Enrolment } from '../flows/enrol/activate-device.ts';
import { LocationClaims } from '../flows/enrol/claim-location.ts';
import { LastSeen } from '../flows/enrol/last-seen.ts';
import { LicenseAdmin } from '../flows/enrol/manage-licenses.ts';
import { Overview } from '../flows/enrol/overview.ts';
import { TokenUse } from '../flows/enrol/token-use.ts';
import type { OverviewDeps } from '../flows/enrol/overview.ts';
import { DeviceAuth } from '../flows/enrol/authenticate-device.ts';
import type { Audit } from '../ports/audit/audit.ts';
import type { Changes } from '../ports/changes/changes.ts';
import type { Journal } from '../ports/journal/journal.ts';
import type { Licenses } from '../ports/licenses/licenses.ts';
import type { Limits } from '../ports/limits/limits.ts';
import type { SendLedger } from '../ports/switchboard/send-ledger.ts';
import type { Switchboard } from '../ports/switchboard/switchboard.ts';

export interface MacsDeps {
  readonly liveness: LocationRoutesDeps['liveness'];
  readonly licenses: Licenses;
  readonly switchboard: Switchboard;
  readonly ledger: SendLedger;
  readonly changes: Changes;
  readonly limits: Limits;
  readonly journal: Journal;
  readonly audit: Audit;
  readonly takeUpload: AssetUploadDeps['take'];
  readonly publicUrl: () => string;
  readonly occurrences: Pick<IssueOccurrences, 'seatsRefused' | 'contended'>;
  readonly crm: Pick<GatewayDeps, 'inbound' | 'statuses'> & Pick<OverviewDeps, 'grants'>;
}

export interface Macs {
  readonly upgrade: UpgradeRoute;
  readonly overview: Overview;
  readonly publicRoutes: readonly ((app: FastifyInstance) => void)[];
  readonly operatorRoutes: readonly ((app: FastifyInstance) => void)[];
  drain(ms: number): Promise<void>;
}

/** Licenses, devices, locations and the sockets of the Macs. */
export function composeMacs({ config, log, clock, life, metrics }: BridgeContext, deps: MacsDeps): Macs {
  const { licenses, switchboard, ledger, changes, limits, journal, audit, takeUpload, crm } = deps;
  const deviceAuth = new DeviceAuth({ licenses, changes, clock, log });
  life.add('device authentication', () => deviceAuth.close());
  const claims = new LocationClaims({ licenses, changes, mode: config.macs.locationClaim });
  life.add('location claims', () => claims.close());
  const lastSeen = new LastSeen({ licenses, clock, log });
  life.add('last seen', () => lastSeen.close());
  const licenseAdmin = new LicenseAdmin({ licenses, changes, audit, switchboard, clock });
  const tokenUse = new TokenUse({ clock, log, takenOver: metrics.takenOver });
  const overview = new Overview({
    licenses,
    switchboard,
    clock,
    grants: crm.grants,
    takeOvers: (deviceRow) => tokenUse.of(deviceRow),
  });
  const enrolment = new Enrolment({
    licenses,
    changes,
    audit,
    seatRefused: (licenseId) => deps.occurrences.seatsRefused.add(licenseId),
  });

  const gateway = createMacGateway({
    switchboard,
    deviceAuth,
    claims,
    lastSeen,
    tokenUse,
    changes,
    limits,
    ledger,
    journal,
    clock,
    log,
    inbound: crm.inbound,
    statuses: crm.statuses,
    mirrorSent: config.crm.mirrorSent,
    addressKey,
    rejectUpgrade,
    heartbeatSec: config.macs.heartbeatSec,
    maxSessions: config.macs.maxSessions,
    attemptsPerMinute: config.limits.socketPerMinute,
    events: {
      bound(_lease, displaced) {
        metrics.macBound(1);
        if (displaced) metrics.displaced();
      },
      gone: () => metrics.macBound(-1),
      locationContended(locationId, deviceId, waitSec) {
        metrics.contended();
        deps.occurrences.contended.add(locationId);
        log.warn(
          { event: 'location.contended', locationId, deviceId, waitSec },
          'several Macs claim one location, the newest has to wait',
        );
      },
      frameIgnored: (reason) => metrics.frameIgnored(reason),
      repeated: () => metrics.sendRepeated(),
      leaseLost: () => metrics.leaseLost(),
    },
  });
  metrics.readAtScrape('footbridge_mac_buffer_bytes_max', () => gateway.maxUnsentBytes);
  life.add('gateway', () => gateway.close());

  return {
    overview,
    upgrade: (request, socket, head, address) => gateway.handleUpgrade(request, socket, head, address),
    publicRoutes: [
      enrolmentRoutes({ enrolment, limits, addressKey, perMinute: config.limits.enrolmentPerMinute }),
      assetUploadRoutes({
        take: takeUpload,
        deviceAuth,
        switchboard,
        mayServe: (locationId, device) => claims.mayServe(locationId, device),
        limits,
      }),
    ],
    operatorRoutes: [
      licensesRoutes({ licenseAdmin, overview }),
      devicesRoutes({ licenseAdmin, overview }),
      locationsRoutes({ licenseAdmin, overview, liveness: deps.liveness, publicUrl: deps.publicUrl }),
    ],
    drain: (ms) => gateway.drain(ms),
  };
}
