import type { Check, Finding } from '../../platform/findings.ts';
import type { Host } from '../../platform/host.ts';
import type { Liveness } from '../../relay/accounts/liveness.ts';
import type { ConnectedMac, LocationOverview } from '../../relay/accounts/overview.ts';
import { NO_CALLS } from '../../relay/crm/crm-client.ts';
import type { Relay } from '../../relay/relay.ts';
import type { MacView } from '../../relay/switchboard/switchboard.ts';
import { livenessOf } from './liveness.ts';
import { visitTenants } from './tenants.ts';
import type { Problem } from './tenant-path.ts';
import type { ConnectedLine, LineWatch } from './watch-lines.ts';

/** Issues about a Mac, whose state is not known while it is away. */
const OF_MAC: ReadonlySet<string> = new Set([
  'messages_signed_out',
  'messages_not_running',
  'store_unreadable',
  'permission_lost',
  'queue_old',
  'sends_failing',
  'line_silent',
  'canary_failed',
]);
/** A Mac that has not reported its state this long after connecting will not report it. */
const REPORT_MS = 60_000;

export interface TenantCheckDeps extends Pick<Host, 'clock' | 'metrics' | 'node'> {
  readonly relay: Pick<Relay, 'crm' | 'accounts'>;
  readonly lines: LineWatch;
}

/** Finds the broken links of all tenants, and reports the states of their lines to the metrics. */
export function tenantCheck({ clock, metrics, node, relay, lines }: TenantCheckDeps): Check {
  const { overview } = relay.accounts;
  /** The locations whose Mac is away. */
  let away = new Set<string>();

  return {
    async find() {
      const macs = await overview.macs();
      await lines.check(connectedLines(macs));
      const found: Finding[] = [];
      const isAway = new Set<string>();
      const states: Liveness['state'][] = [];
      const known = {
        privateTokenCheck: () => relay.crm.grants.value.privateTokens(),
        // Only the node that holds the socket makes CRM calls; results on other nodes may be stale.
        crmCalls: (locationId: string) =>
          (macs.get(locationId)?.node ?? node) === node ? relay.crm.callsOf(locationId) : NO_CALLS,
        traffic: (locationId: string) => lines.of(locationId),
        now: () => clock.now(),
      };
      await visitTenants(known, overview.pages(macs), (location, broken) => {
        const { locationId, connected } = location;
        const liveness = livenessOf(broken);
        if (liveness !== null) states.push(liveness.state);
        if (hadMac(location) && isMacAway(connected, clock.now())) isAway.add(locationId);
        found.push(...findingsOf(location, broken));
      });
      metrics.lines(states);
      away = isAway;
      return found;
    },
    isUndecided: ({ kind, subject }) => OF_MAC.has(kind) && away.has(subject),
  };
}

/** Returns the issues of one tenant. */
export function findingsOf(location: Location, broken: readonly Problem[]): Finding[] {
  const { locationId, licenseId } = location;
  return broken.flatMap(({ kind, sentence, action, since }) => {
    if (kind === null || (kind === 'mac_offline' && !hadMac(location))) return [];
    return [{ kind, subject: locationId, locationIds: [locationId], licenseId, sentence, action, since }];
  });
}

type Location = Pick<LocationOverview, 'locationId' | 'licenseId' | 'state' | 'lastDevice'>;

const hadMac = ({ state, lastDevice }: Location): boolean => state === 'bound' && lastDevice !== null;

const isMacAway = (mac: ConnectedMac | null, now: number): boolean =>
  mac === null || (mac.stateReport === null && now - mac.since < REPORT_MS);

function* connectedLines(macs: MacView): Generator<ConnectedLine> {
  for (const { locationId, stateReport } of macs.values())
    yield { locationId, lastReceivedAt: Date.parse(stateReport?.state.lastReceivedAt ?? '') || null };
}
