import type { FastifyInstance } from 'fastify';

import type { IssueOccurrences } from './compose-issues.ts';
import type { BridgeContext } from './context.ts';
import { addressKey } from '../platform/http/client-address.ts';
import type { UpgradeRoute } from '../platform/http/listener.ts';
import { rejectUpgrade } from '../platform/http/reject-upgrade.ts';
import { assetUploadRoutes } from '../relay/assets/upload-routes.ts';
import type { AssetUploadDeps } from '../relay/assets/upload-routes.ts';
import { enrolmentRoutes } from '../relay/accounts/enrolment-routes.ts';
import { createMacGateway } from '../relay/macs/mac-gateway.ts';
import type { GatewayDeps } from '../relay/macs/mac-gateway.ts';
import { devicesRoutes } from '../relay/accounts/devices-routes.ts';
import { licensesRoutes } from '../relay/accounts/licenses-routes.ts';
import { locationsRoutes } from '../relay/accounts/locations-routes.ts';
import type { LocationRoutesDeps } from '../relay/accounts/locations-routes.ts';
import { Enrolment } from '../relay/accounts/activate-device.ts';
import { LocationClaims } from '../relay/accounts/claim-location.ts';
import { LastSeen } from '../relay/accounts/last-seen.ts';
import { LicenseAdmin } from '../relay/accounts/manage-licenses.ts';
import type { LocationTokens } from '../relay/accounts/manage-licenses.ts';
import { Overview } from '../relay/accounts/overview.ts';
import { TokenUse } from '../relay/accounts/token-use.ts';
import type { OverviewDeps } from '../relay/accounts/overview.ts';
import { DeviceAuth } from '../relay/accounts/authenticate-device.ts';
import type { Audit } from '../platform/operator/audit.ts';
import type { Changes } from '../platform/changes/changes.ts';
import type { Journal } from '../relay/journal/journal.ts';
import type { Licenses } from '../relay/accounts/licenses.ts';
import type { Limits } from '../platform/limits/limits.ts';
import type { SendLedger } from '../relay/switchboard/send-ledger.ts';
import type { Switchboard } from '../relay/switchboard/switchboard.ts';

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
  readonly crm: Pick<GatewayDeps, 'inbound' | 'statuses'> &
    Pick<OverviewDeps, 'grants'> & {
      readonly locationTokens: LocationTokens;
    };
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
  const licenseAdmin = new LicenseAdmin({
    licenses,
    changes,
    audit,
    switchboard,
    tokens: crm.locationTokens,
    clock,
  });
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
