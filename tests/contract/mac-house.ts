import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type {
  AckOutcome,
  MessageReceivedFrame,
  MessageStatusFrame,
  SendFrame,
} from '@footbridge/protocol/frames';

import { systemClock } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import { createLog } from '@footbridge/runtime/log';
import type { Log } from '@footbridge/runtime/log';
import { addressKey } from '@footbridge/service/edges/http/client-address';
import { rejectUpgrade } from '@footbridge/service/edges/http/reject-upgrade';
import { startListener } from '@footbridge/service/edges/http/listener';
import { enrolmentRoutes } from '@footbridge/service/edges/mac/enrolment-routes';
import { createMacGateway } from '@footbridge/service/edges/mac/mac-gateway';
import { MacSession } from '@footbridge/service/edges/mac/mac-session';
import { devicesRoutes } from '@footbridge/service/edges/operator/devices-routes';
import { licensesRoutes } from '@footbridge/service/edges/operator/licenses-routes';
import { locationsRoutes } from '@footbridge/service/edges/operator/locations-routes';
import { Enrolment } from '@footbridge/service/flows/enrol/activate-device';
import { LocationClaims } from '@footbridge/service/flows/enrol/claim-location';
import { LastSeen } from '@footbridge/service/flows/enrol/last-seen';
import { LicenseAdmin } from '@footbridge/service/flows/enrol/manage-licenses';
import { Overview } from '@footbridge/service/flows/enrol/overview';
import type { GrantState } from '@footbridge/service/flows/enrol/overview';
import { DeviceAuth } from '@footbridge/service/flows/enrol/authenticate-device';
import { createSqlAudit } from '@footbridge/service/ports/audit/audit-sql';
import { createMemoryChanges } from '@footbridge/service/ports/changes/changes-memory';
import { createSqlChanges } from '@footbridge/service/ports/changes/changes-sql';
import { createSqlLicenses } from '@footbridge/service/ports/licenses/licenses-sql';
import { createMemoryLimits } from '@footbridge/service/ports/limits/limits-memory';
import { createMemorySwitchboard } from '@footbridge/service/ports/switchboard/switchboard-memory';
import type { Lease, Switchboard } from '@footbridge/service/ports/switchboard/switchboard';
import { openDatabase } from '@footbridge/service/sql/open-database';
import type { OpenDatabase } from '@footbridge/service/sql/open-database';

export interface HouseOptions {
  readonly heartbeatSec?: number;
  readonly locationClaim?: 'first' | 'operator';
  readonly enrolmentPerMinute?: number;
  readonly attemptsPerMinute?: number;
  readonly maxSessions?: number;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Given: changes are polled from it, as several nodes on one database do. */
  readonly database?: OpenDatabase;
  readonly switchboard?: Switchboard;
  readonly grants?: Readonly<Record<string, GrantState>>;
}

/** Everything a Mac meets, on a port of its own; the CRM side is a list of what would have been delivered. */
export async function startMacHouse(options: HouseOptions = {}) {
  const { clock = systemClock, log = createLog('silent') } = options;
  const database = options.database ?? (await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {}));
  const licenses = createSqlLicenses({ database, clock });
  const audit = createSqlAudit({ db: database.db, clock });
  const changes =
    options.database === undefined
      ? createMemoryChanges(log)
      : await createSqlChanges({ db: database.db, clock, log });
  const limits = createMemoryLimits(clock);
  const switchboard = options.switchboard ?? createMemorySwitchboard({ clock });
  const deviceAuth = new DeviceAuth({ licenses, changes, clock, log });
  const claims = new LocationClaims({ licenses, changes, mode: options.locationClaim ?? 'first' });
  const lastSeen = new LastSeen({ licenses, clock, log });
  const licenseAdmin = new LicenseAdmin({ licenses, changes, audit, switchboard });
  const crm = new PretendedCrm();
  const sessions = new Map<string, MacSession>();
  const gateway = createMacGateway({
    switchboard: {
      bind(locationId, line) {
        if (line instanceof MacSession) sessions.set(locationId, line);
        return switchboard.bind(locationId, line);
      },
      release: (lease) => switchboard.release(lease),
      isCurrent: (lease) => switchboard.isCurrent(lease),
    },
    deviceAuth,
    claims,
    lastSeen,
    changes,
    limits,
    clock,
    log,
    addressKey,
    rejectUpgrade,
    inbound: crm,
    statuses: crm,
    journal: { step: (id, step) => crm.steps.push(`${step} ${id}`) },
    events: {
      bound: () => crm.bound++,
      gone: () => crm.gone++,
      locationContended: (locationId) => crm.contended.push(locationId),
      frameIgnored: () => crm.ignored++,
    },
    heartbeatSec: options.heartbeatSec ?? 15,
    attemptsPerMinute: options.attemptsPerMinute ?? 1_000_000,
    maxSessions: options.maxSessions ?? 50_000,
  });
  const enrolment = new Enrolment({ licenses, changes, audit });
  const perMinute = options.enrolmentPerMinute ?? 1_000_000;
  const listener = await startListener(
    {
      name: 'public',
      log,
      trusted: () => false,
      routes: [enrolmentRoutes({ enrolment, limits, addressKey, perMinute })],
      upgrade: (request, socket, head, address) => gateway.handleUpgrade(request, socket, head, address),
    },
    { host: '127.0.0.1', port: 0 },
  );
  const overview = new Overview({
    licenses,
    switchboard,
    clock,
    grantStates: async () => new Map(Object.entries(options.grants ?? {})),
  });
  const operator = await startListener(
    {
      name: 'operator',
      log,
      trusted: () => false,
      routes: [
        licensesRoutes({ licenseAdmin, overview }),
        devicesRoutes({ licenseAdmin, overview }),
        locationsRoutes({ licenseAdmin, overview }),
      ],
    },
    { host: '127.0.0.1', port: 0 },
  );
  return {
    url: listener.url,
    operatorUrl: operator.url,
    async operator(method: string, path: string, body?: unknown) {
      const response = await fetch(`${operator.url}${path}`, {
        method,
        ...(body !== undefined && {
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        }),
      });
      return { status: response.status, body: JSON.parse(await response.text()) };
    },
    licenseAdmin,
    licenses,
    audit,
    database,
    switchboard,
    gateway,
    crm,
    /** Bytes that wait for the Mac which bound this location last. */
    unsent: (locationId: string) => sessions.get(locationId)?.unsent ?? 0,
    async createLicense(maxSeats = 1000) {
      const { license, key } = await licenseAdmin.createLicense({ label: 'Test', maxSeats });
      return { id: license.id, key };
    },
    send: (locationId: string, frame: Partial<SendFrame> = {}) =>
      switchboard.send(location(locationId), { ...sendFrame(), ...frame }),
    async stop() {
      await gateway.close();
      await listener.close({ idleMs: 0, withinMs: 0 });
      await operator.close({ idleMs: 0, withinMs: 0 });
      await lastSeen.close();
      claims.close();
      await deviceAuth.close();
      await changes.close();
      await switchboard.close();
      await limits.close();
      if (options.database === undefined) await database.close();
    },
  };
}

export type MacHouse = Awaited<ReturnType<typeof startMacHouse>>;

/** Where frames would go on to: remembers them, and answers as it is told. */
export class PretendedCrm {
  readonly received: { lease: Lease; frame: MessageReceivedFrame }[] = [];
  readonly statuses: { lease: Lease; frame: MessageStatusFrame }[] = [];
  readonly announced: string[] = [];
  readonly steps: string[] = [];
  readonly contended: string[] = [];
  bound = 0;
  gone = 0;
  ignored = 0;
  answer: () => AckOutcome | Promise<AckOutcome> = () => ({ outcome: 'delivered' });

  async deliver(lease: Lease, frame: MessageReceivedFrame): Promise<AckOutcome> {
    this.received.push({ lease, frame });
    return await this.answer();
  }

  async reported(lease: Lease, frame: MessageStatusFrame): Promise<AckOutcome> {
    this.statuses.push({ lease, frame });
    return await this.answer();
  }

  published({ requestId, locationId }: { requestId: string; locationId: LocationId }): void {
    this.announced.push(`${locationId} ${requestId}`);
  }
}

export function location(text: string): LocationId {
  const id = asLocationId(text);
  if (id === undefined) throw new Error('not a location');
  return id;
}

export function sendFrame(): SendFrame {
  return {
    type: 'send',
    requestId: newRequestId(),
    messageId: 'm-1',
    contactId: 'c-1',
    phone: '+15555550100',
    message: 'Hi',
    attachments: [],
    channel: 'imessage',
  };
}
