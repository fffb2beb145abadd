import type { Host } from '../../platform/host.ts';
import type { Suspects } from '../../platform/suspects/suspects-sql.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { CrmClient } from '../crm/crm-client.ts';
import type { CRM } from '../crm/settings.ts';
import type { Journal } from '../journal/journal-sql.ts';
import { leaseChecks } from '../switchboard/lease-fence.ts';
import type { Switchboard } from '../switchboard/switchboard.ts';
import { createStatusReports } from './report-statuses.ts';
import type { StatusReports } from './report-statuses.ts';
import type { STATUS } from './settings.ts';
import { createStatusCalls } from './status-calls.ts';

export interface StatusDeps {
  readonly suspects: Pick<Suspects, 'handle' | 'setAside' | 'workOn'>;
  readonly journal: Journal;
  readonly client: CrmClient;
  readonly switchboard: Switchboard;
}

export type StatusSettings = ValuesOf<typeof STATUS & typeof CRM> & {
  /** Whether OAuth is complete: without it the CRM accepts no statuses. */
  readonly oauthReady: boolean;
};

/** What the CRM learns about each message, in order. */
export function openStatus(
  host: Host,
  { suspects, journal, client, switchboard }: StatusDeps,
  settings: StatusSettings,
): StatusReports {
  const { metrics } = host;
  const statuses = createStatusReports({
    ...host,
    ...settings,
    ...leaseChecks(host, switchboard),
    journal,
    otherNodes: host.isSingleNode ? undefined : switchboard,
    calls: createStatusCalls(client, settings.statusWithGuid),
    past: journal,
    count: metrics.statusCall,
    onRepeat: () => metrics.duplicate('message'),
    onTerminal: metrics.statusTerminal,
    suspects,
    workOn: (message) => suspects.workOn({ kind: 'outbound', ...message }),
  });
  switchboard.keepStatuses({
    statusOf: (locationId, messageId) => statuses.statusOf(locationId, messageId),
    async endCalls(locationId) {
      const lateMs = await statuses.endCalls(locationId);
      await journal.flush();
      return lateMs;
    },
    async endRejections(locationId, messageId) {
      await statuses.endRejections(locationId, messageId);
      await journal.flush();
    },
  });
  host.stops('statuses', async () => {
    await statuses.close();
    // The next owner of a location reads them.
    await journal.flush();
  });
  return statuses;
}
