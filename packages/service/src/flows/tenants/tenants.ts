import type { JournalReader } from '../../ports/journal/journal.ts';
import type { StateReport } from '../../ports/switchboard/switchboard.ts';
import { tenantPath } from './tenant-path.ts';
import type { RecentCalls, TenantFacts, TenantPath } from './tenant-path.ts';

/** A location with its Mac and its grant. */
export interface TenantLocation {
  readonly locationId: string;
  readonly license: string | null;
  readonly connected: {
    readonly name: string;
    readonly since: number;
    readonly stateReport: StateReport | null;
  } | null;
  readonly lastDevice: { readonly name: string; readonly lastSeenAt: number } | null;
  readonly oauth: { readonly state: string; readonly lastError: string | null } | null;
}

export interface TenantsDeps {
  readonly locations: () => Promise<TenantLocation[]>;
  /** Resolves with those of the locations that have a private integration token. */
  readonly withPrivateToken: (locationIds: readonly string[]) => Promise<ReadonlySet<string>>;
  readonly journal: Pick<JournalReader, 'lastWebhooks'>;
  readonly crmCalls: (locationId: string) => RecentCalls;
}

export interface Tenant extends TenantPath {
  readonly license: string | null;
}

/** Lists the tenants with the state of every link between the CRM and the customer. */
export async function listTenants(deps: TenantsDeps): Promise<Tenant[]> {
  const locations = await deps.locations();
  const ids = locations.map(({ locationId }) => locationId);
  const [withToken, lastWebhooks] = await Promise.all([
    deps.withPrivateToken(ids),
    deps.journal.lastWebhooks(ids),
  ]);
  return locations.map((location) => {
    const { locationId, license, connected, lastDevice, oauth } = location;
    const facts: TenantFacts = {
      locationId,
      token: oauth !== null ? 'oauth' : withToken.has(locationId) ? 'private' : 'none',
      grant: oauth,
      lastWebhookAt: lastWebhooks.get(locationId) ?? null,
      mac: connected,
      lastMac: lastDevice,
      crmCalls: deps.crmCalls(locationId),
    };
    return { ...tenantPath(facts), license };
  });
}
