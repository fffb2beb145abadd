import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';

import { diskSpace } from '../../platform/disk-space.ts';
import type { Finding } from '../../platform/findings.ts';
import type { Feature, Host } from '../../platform/host.ts';
import type { LateClockGuard } from '../../platform/late-clock-guard.ts';
import type { STORAGE } from '../../platform/sql/settings.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { JOURNAL } from '../../relay/journal/settings.ts';
import type { NamesOf } from '../../relay/accounts/overview.ts';
import type { Relay } from '../../relay/relay.ts';
import { createAlertOutbox } from './alert-outbox-sql.ts';
import { alertsRoutes } from './alerts-routes.ts';
import { createSlackReceiver } from './alerts-slack.ts';
import { createSmtpReceiver } from './alerts-smtp.ts';
import { createTeamsReceiver } from './alerts-teams.ts';
import { createWebhookReceiver } from './alerts-webhook.ts';
import type { AlertReceiver } from './alerts.ts';
import { doubtfulClock } from './find-doubtful-clock.ts';
import { fullDisk } from './find-full-disk.ts';
import { createIssues } from './issues-sql.ts';
import { issuesRoutes } from './issues-routes.ts';
import { MacHistory } from './mac-history.ts';
import { overviewRoutes } from './overview-routes.ts';
import { AlertSender } from './send-alerts.ts';
import type { AlertSettings } from './settings.ts';
import { TrafficOverview } from './show-traffic.ts';
import { IssueWatch } from './watch-issues.ts';

type IssuesSettings = AlertSettings &
  Pick<ValuesOf<typeof STORAGE & typeof JOURNAL>, 'dataDir' | 'journalDays'> & {
    readonly clockVerdict: LateClockGuard['verdict'];
  };

const DAY_MS = 86_400_000;

/** Opens and closes issues from the findings of all parts, alerts the receivers, and shows the figures of the last day. */
export const issues: Feature<Pick<Relay, 'journal' | 'accounts'>, IssuesSettings> = {
  name: 'issues',
  start(host, { journal, accounts }, settings) {
    const { db, clock, log, metrics, node } = host;
    const kept = settings.journalDays * DAY_MS;
    const stored = createIssues({ db, clock });
    const macHistory = new MacHistory(() => clock.now());
    host.finds({
      async find() {
        const disk = await diskSpace(settings.dataDir);
        macHistory.add((await accounts.overview.macs()).size);
        return [...fullDisk(disk), ...doubtfulClock(disk.host, settings.clockVerdict())];
      },
    });
    host.watches('issues', () => {
      const watch = new IssueWatch({
        issues: stored,
        find: async () => withLicenses(await findAll(host), (ids) => accounts.ownersOf(ids)),
        isUndecided: (issue) => host.checks().some((check) => check.isUndecided?.(issue) === true),
        node,
        clock,
        log,
        changed: (change, { id, kind, locationIds }) =>
          change === 'opened'
            ? log.warn(
                { event: 'issue.opened', id, kind, locations: locationIds?.length ?? null },
                'issue opened',
              )
            : log.info({ event: 'issue.closed', id, kind }, 'issue closed'),
        checked: (open) => metrics.issuesOpen(open.map(({ kind }) => kind)),
      });
      return () => watch.close();
    });
    host.expires('issue.prune_failed', () => stored.prune(clock.now() - kept));
    const traffic = new TrafficOverview({ journal, now: () => clock.now() });
    host.operatorRoutes(
      issuesRoutes({ issues: stored }),
      overviewRoutes({
        traffic,
        locations: () => accounts.overview.recentLocations(),
        issues: stored,
        macHistory,
      }),
    );
    startAlerts(host, settings, { kept, namesOf: (ids) => accounts.overview.names.value(ids) });
  },
};

async function findAll(host: Host): Promise<Finding[]> {
  const found = await Promise.all(host.checks().map(async (check) => check.find()));
  return found.flat();
}

/** Adds the licenses of the locations that findings are about. */
async function withLicenses(
  found: readonly Finding[],
  ownersOf: (locationIds: readonly LocationId[]) => Promise<ReadonlyMap<LocationId, { licenseId: string }>>,
): Promise<Finding[]> {
  const wanted = found.flatMap(({ subject, licenseId, locationIds }) =>
    licenseId === undefined && locationIds?.includes(subject) === true ? (asLocationId(subject) ?? []) : [],
  );
  const owners: ReadonlyMap<string, { licenseId: string }> =
    wanted.length === 0 ? new Map() : await ownersOf(wanted);
  return found.map((finding) => ({ licenseId: owners.get(finding.subject)?.licenseId ?? null, ...finding }));
}

function startAlerts(
  host: Host,
  settings: AlertSettings,
  { kept, namesOf }: { readonly kept: number; readonly namesOf: NamesOf },
): void {
  const { db, clock, metrics } = host;
  const outbox = createAlertOutbox({ db, clock, otherNodes: !host.isSingleNode });
  const receivers = receiversOf(settings, () => clock.now()).map((one) => withNames(one, namesOf));
  const sender = new AlertSender({
    ...host,
    outbox,
    receivers,
    quietHours: settings.alertQuietHours,
    reminderMs: settings.alertReminderMs,
    count: metrics.alert,
  });
  host.stops('alerts', () => sender.close());
  host.expires('alert.prune_failed', () => outbox.prune(clock.now() - kept));
  host.operatorRoutes(alertsRoutes({ receivers, outbox, sender }));
}

/** Adds the names of locations to what a receiver gets. They are read for each attempt; an alert without them is better than none. */
const withNames = (receiver: AlertReceiver, namesOf: NamesOf): AlertReceiver => ({
  ...receiver,
  async send(alert, signal) {
    const ids = alert.changes.flatMap(({ issue }) => issue.locationIds ?? []);
    const names = await namesOf(ids).catch(() => new Map<string, string>());
    const changes = alert.changes.map((change) => {
      const own = change.issue.locationIds?.filter((id) => names.has(id)) ?? [];
      if (own.length === 0) return change;
      const named = Object.fromEntries(own.map((id) => [id, names.get(id) ?? id]));
      return { ...change, issue: { ...change.issue, names: named } };
    });
    return await receiver.send({ ...alert, changes }, signal);
  },
});

function receiversOf(settings: AlertSettings, now: () => number): AlertReceiver[] {
  const { alertWebhookUrl, alertWebhookSecret, alertSlackUrl, alertTeamsUrl, alertSmtpUrl } = settings;
  const { alertEmailFrom: from, alertEmailTo: to, alertAllowPrivate: allowPrivate } = settings;
  const receivers: AlertReceiver[] = [];
  if (alertWebhookUrl && alertWebhookSecret)
    receivers.push(
      createWebhookReceiver({ url: alertWebhookUrl, secret: alertWebhookSecret, allowPrivate, now }),
    );
  if (alertSlackUrl) receivers.push(createSlackReceiver({ url: alertSlackUrl, allowPrivate }));
  if (alertTeamsUrl) receivers.push(createTeamsReceiver({ url: alertTeamsUrl, allowPrivate }));
  if (alertSmtpUrl && from && to)
    receivers.push(createSmtpReceiver({ url: alertSmtpUrl, from, to, allowPrivate }));
  return receivers;
}
