import { addressKey } from '../../platform/http/client-address.ts';
import { rejectUpgrade } from '../../platform/http/reject-upgrade.ts';
import type { Host } from '../../platform/host.ts';
import { RecentOccurrences } from '../../platform/recent-occurrences.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { AccountsRoom } from '../accounts/room.ts';
import type { AssetsRoom } from '../assets/room.ts';
import { assetUploadRoutes } from '../assets/upload-routes.ts';
import type { InboundRoom } from '../inbound/room.ts';
import type { INBOUND } from '../inbound/settings.ts';
import type { Journal } from '../journal/journal-sql.ts';
import type { StatusReports } from '../status/report-statuses.ts';
import type { SendLedger } from '../switchboard/send-ledger.ts';
import type { Switchboard } from '../switchboard/switchboard.ts';
import { contendedLocations } from './find-contended.ts';
import { createMacGateway } from './mac-gateway.ts';
import type { MacGateway } from './mac-gateway.ts';
import type { MACS } from './settings.ts';

const QUARTER_HOUR_MS = 900_000;

export interface MacsDeps {
  readonly switchboard: Switchboard;
  readonly ledger: SendLedger;
  readonly journal: Pick<Journal, 'step'>;
  readonly accounts: AccountsRoom;
  readonly files: AssetsRoom;
  readonly inbound: InboundRoom;
  readonly statuses: StatusReports;
}

/** The sockets of the Macs. */
export function openMacs(
  host: Host,
  { switchboard, ledger, journal, accounts, files, inbound, statuses }: MacsDeps,
  settings: ValuesOf<typeof MACS & typeof INBOUND>,
): MacGateway {
  const { clock, log, metrics } = host;
  const contended = new RecentOccurrences(() => clock.now(), QUARTER_HOUR_MS);
  const gateway = createMacGateway({
    ...host,
    ...settings,
    ...accounts,
    switchboard,
    ledger,
    journal,
    inbound,
    statuses,
    addressKey,
    rejectUpgrade,
    events: {
      bound(_lease, displaced) {
        metrics.macBound(1);
        if (displaced) metrics.displaced();
      },
      gone: () => metrics.macBound(-1),
      locationContended(locationId, deviceId, waitSec) {
        metrics.contended();
        contended.add(locationId);
        log.warn(
          { event: 'location.contended', locationId, deviceId, waitSec },
          'several Macs claim one location; the newest has to wait',
        );
      },
      frameIgnored: (reason) => metrics.frameIgnored(reason),
      repeated: () => metrics.sendRepeated(),
      leaseLost: () => metrics.leaseLost(),
    },
  });
  metrics.readAtScrape('footbridge_mac_buffer_bytes_max', () => gateway.maxUnsentBytes);
  host.stops('gateway', () => gateway.close());
  host.publicRoutes(
    assetUploadRoutes({
      take: files.take,
      deviceAuth: accounts.deviceAuth,
      switchboard,
      mayServe: (locationId, device) => accounts.claims.mayServe(locationId, device),
      limits: host.limits,
    }),
  );
  host.finds({ find: () => contendedLocations(contended.all()) });
  return gateway;
}
