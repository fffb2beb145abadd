import type { FastifyInstance } from 'fastify';

import { diskSpace } from '../platform/disk-space.ts';
import { issuesRoutes } from '../features/issues/issues-routes.ts';
import { overviewRoutes } from '../features/issues/overview-routes.ts';
import type { ConnectedMac, Overview } from '../relay/accounts/overview.ts';
import type { IssueFacts } from '../features/issues/find-issues.ts';
import type { RecentOccurrences } from '../platform/recent-occurrences.ts';
import { IssueWatch } from '../features/issues/watch-issues.ts';
import { NO_CALLS } from '../relay/crm/recent-calls.ts';
import { livenessOf } from '../features/tenants/liveness.ts';
import type { Liveness } from '../relay/accounts/liveness.ts';
import type { ConnectedLine, LineWatch } from '../features/tenants/watch-lines.ts';
import { visitTenants } from '../features/tenants/tenants.ts';
import type { TenantsDeps } from '../features/tenants/tenants.ts';
import { MacHistory } from '../features/issues/mac-history.ts';
import { TrafficOverview } from '../features/issues/show-traffic.ts';
import { createSqlIssues } from '../features/issues/issues-sql.ts';
import type { JournalReader } from '../relay/journal/journal.ts';
import type { Suspects } from '../platform/suspects/suspects.ts';
import type { MacView } from '../relay/switchboard/switchboard.ts';
import type { OpenDatabase } from '../platform/sql/open-database.ts';
import type { BridgeContext } from './context.ts';
import { pruneHourly } from '../platform/prune-hourly.ts';

export interface IssuesDeps {
  readonly database: OpenDatabase;
  readonly journal: JournalReader;
  readonly suspects: Pick<Suspects, 'list'>;
  readonly overview: Pick<Overview, 'licenses' | 'macs' | 'pages' | 'recentLocations'>;
  readonly tenants: Pick<TenantsDeps, 'privateTokenCheck' | 'crmCalls'>;
  readonly unreadableTokens: () => Promise<IssueFacts['unreadableTokens']>;
  readonly clockVerdict: () => IssueFacts['clock'];
  readonly lines: LineWatch;
  readonly occurrences: IssueOccurrences;
  readonly separations: () => IssueFacts['separations'];
}

/** Recent occurrences on this node. */
export interface IssueOccurrences {
  readonly rejectedSignatures: RecentOccurrences;
  readonly seatsRefused: RecentOccurrences;
  readonly contended: RecentOccurrences;
}

const DAY_MS = 86_400_000;
const MAX_UNCERTAIN = 200;
/** A message without a result for this long is stuck. */
const STUCK_MS = 600_000;
const REPORT_MS = 60_000;

/** Composes the check that opens and closes issues, and the figures of the last day. */
export function composeIssues(
  context: BridgeContext,
  {
    database,
    journal,
    suspects,
    overview,
    tenants,
    unreadableTokens,
    clockVerdict,
    lines,
    occurrences,
    separations,
  }: IssuesDeps,
): (app: FastifyInstance) => void {
  const { config, clock, log, life, metrics, node } = context;
  const issues = createSqlIssues({ db: database.db, clock });
  const macHistory = new MacHistory(() => clock.now());

  async function facts(): Promise<IssueFacts> {
    const at = clock.now();
    const [macs, licenses, { messages: uncertain }, setAside, unreadable, disk, stuck] = await Promise.all([
      overview.macs(),
      overview.licenses(),
      journal.list({
        direction: 'inbound',
        code: 'UNCERTAIN',
        from: at - DAY_MS,
        limit: MAX_UNCERTAIN,
      }),
      suspects.list(),
      unreadableTokens(),
      diskSpace(config.dataDir),
      journal.unfinishedSends(at - DAY_MS, at - STUCK_MS),
    ]);
    metrics.stuckPending(stuck);
    metrics.seats({
      used: licenses.reduce((sum, { seats }) => sum + seats.used, 0),
      max: licenses.reduce((sum, { seats }) => sum + seats.max, 0),
    });
    macHistory.add(macs.size);
    await lines.check(connectedLines(macs));
    // A copy: more may be refused while the locations are read.
    const seatsRefused = new Map(occurrences.seatsRefused.all());
    const { tenants: troubled, byLicense, licenseOf } = await visitLocations(macs, seatsRefused);
    return {
      tenants: troubled,
      uncertain,
      // The file is delivered, so there is nothing to decide about it.
      setAside: setAside.filter((found) => found.kind !== 'file' || found.at > at - DAY_MS),
      unreadableTokens: unreadable,
      rejectedSignatures: occurrences.rejectedSignatures.of('webhooks'),
      seatsRefused,
      licenses: licenses.map(({ id, label, seats }) => ({
        id,
        label,
        seats,
        locationIds: byLicense.get(id)?.sort() ?? [],
      })),
      contended: occurrences.contended.all(),
      separations: separations(),
      licenseOf,
      clock: clockVerdict(),
      disk,
    };
  }

  /**
   * Resolves with the tenants that have a problem or whose Mac is away, and with the locations of the `wanted` licenses. Also reports the
   * states of the lines to the metrics.
   */
  async function visitLocations(
    macs: MacView,
    wanted: { has(licenseId: string): boolean },
  ): Promise<Pick<IssueFacts, 'tenants' | 'licenseOf'> & { byLicense: ReadonlyMap<string, string[]> }> {
    const licenseOf = new Map<string, string>();
    const byLicense = new Map<string, string[]>();
    const troubled: IssueFacts['tenants'][number][] = [];
    const lineStates: Liveness['state'][] = [];
    const known = {
      privateTokenCheck: tenants.privateTokenCheck,
      // Only the node that holds the socket makes CRM calls; results on other nodes may be stale.
      crmCalls: (locationId: string) =>
        (macs.get(locationId)?.node ?? node) === node ? tenants.crmCalls(locationId) : NO_CALLS,
      traffic: (locationId: string) => lines.of(locationId),
      now: () => clock.now(),
    };
    await visitTenants(known, overview.pages(macs), (location, broken) => {
      const { locationId, licenseId, state, lastDevice, connected } = location;
      const liveness = livenessOf(broken);
      if (liveness !== null) lineStates.push(liveness.state);
      if (licenseId !== null) licenseOf.set(locationId, licenseId);
      if (licenseId !== null && wanted.has(licenseId)) {
        const ids = byLicense.get(licenseId) ?? [];
        ids.push(locationId);
        byLicense.set(licenseId, ids);
      }
      const hadMac = state === 'bound' && lastDevice !== null;
      const isMacAway = isAway(connected, clock.now());
      if (isMacAway || broken.some(({ kind }) => kind !== null))
        troubled.push({ locationId, broken, hadMac, isMacAway });
    });
    metrics.lines(lineStates);
    return { tenants: troubled, byLicense, licenseOf };
  }

  const watch = new IssueWatch({
    issues,
    facts,
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
  life.add('issues', () => watch.close());
  life.add(
    'pruning of issues',
    pruneHourly(context, 'issue.prune_failed', () =>
      issues.prune(clock.now() - config.retentionDays * DAY_MS),
    ),
  );
  const traffic = new TrafficOverview({ journal, now: () => clock.now() });
  return (app) => {
    issuesRoutes({ issues })(app);
    overviewRoutes({ traffic, locations: () => overview.recentLocations(), issues, macHistory })(app);
  };
}

function* connectedLines(macs: MacView): Generator<ConnectedLine> {
  for (const { locationId, stateReport } of macs.values())
    yield { locationId, lastReceivedAt: Date.parse(stateReport?.state.lastReceivedAt ?? '') || null };
}

/** A Mac reports its state soon after it connects; one that does not will not. */
const isAway = (mac: ConnectedMac | null, now: number): boolean =>
  mac === null || (mac.stateReport === null && now - mac.since < REPORT_MS);
