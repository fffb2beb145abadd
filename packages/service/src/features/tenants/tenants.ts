import type { Journal } from '../../relay/journal/journal-sql.ts';
import type { StateReport } from '../../relay/switchboard/switchboard.ts';
import { livenessOf } from './liveness.ts';
import type { Liveness } from '../../relay/accounts/liveness.ts';
import { NO_CALLS } from '../../relay/crm/crm-client.ts';
import type { PrivateTokenState } from '../../relay/crm/tokens.ts';
import type { RecentCalls } from '../../relay/crm/crm-client.ts';
import { brokenLinks, tenantPath } from './tenant-path.ts';
import type { LineTraffic, Problem, TenantFacts, TenantPath } from './tenant-path.ts';

/** A location with its Mac and its grant. */
export interface TenantLocation {
  readonly locationId: string;
  readonly name?: string;
  readonly license: string | null;
  /** A Mac of the license claimed the location, and the operator has not confirmed it. */
  readonly claimed: boolean;
  readonly connected: {
    readonly name: string;
    readonly since: number;
    readonly stateReport: StateReport | null;
  } | null;
  readonly lastDevice: { readonly name: string; readonly lastSeenAt: number } | null;
  readonly oauth: { readonly state: string; readonly lastError: string | null } | null;
}

export type PrivateTokenOf = (locationId: string) => PrivateTokenState;

export interface TenantsDeps {
  readonly locations: () => Promise<readonly TenantLocation[]>;
  /** Resolves with a function that returns whether a private integration token serves a location. */
  readonly privateTokenCheck: () => Promise<PrivateTokenOf>;
  readonly journal: Pick<Journal, 'lastWebhooks'>;
  readonly crmCalls: (locationId: string) => RecentCalls;
  readonly traffic: (locationId: string) => LineTraffic;
  readonly now: () => number;
}

/** Fields of a location that are shown unchanged. */
type Shown = Pick<TenantLocation, 'name' | 'license' | 'claimed'>;

export interface Tenant extends TenantPath, Shown {
  readonly liveness: Liveness | null;
}

/** Which tenants to list. */
export interface TenantsQuery {
  readonly mayAccess: (locationId: string) => boolean;
  /** Part of the name, the location id or the license. Case does not matter. */
  readonly search?: string | undefined;
  readonly limit: number;
  /** The last tenant of the page before. */
  readonly after?: TenantPlace | undefined;
}

/** A place in the list: those with a problem come first, and both in the order of their ids. */
export interface TenantPlace {
  readonly isBroken: boolean;
  readonly id: string;
}

export interface TenantsPage {
  readonly tenants: readonly Tenant[];
  /** Undefined when the list ends with this page. */
  readonly next: TenantPlace | undefined;
  /** The numbers of all tenants, of tenants with a problem, and of tenants that match the search. */
  readonly total: number;
  readonly broken: number;
  readonly found: number;
}

/** Lists the tenants with the state of every link between the CRM and the customer, those with a problem first. */
export async function readTenants(deps: TenantsDeps, query: TenantsQuery): Promise<TenantsPage> {
  const wanted = (query.search ?? '').toLowerCase();
  const all = await tenantFacts(deps, query);
  // The last webhook never breaks a link, so it is read only for the tenants that are shown.
  const own = all.map((one) => ({ ...one, isBroken: brokenLinks(one.facts).length > 0 }));
  const broken = own.filter(({ isBroken }) => isBroken);
  const found = [...broken, ...own.filter(({ isBroken }) => !isBroken)].filter(({ facts, shown }) =>
    `${shown.name ?? ''} ${facts.locationId} ${shown.license ?? ''}`.toLowerCase().includes(wanted),
  );
  const rest = found.filter(({ isBroken, facts }) =>
    isAfter(query.after, { isBroken, id: facts.locationId }),
  );
  const page = rest.slice(0, query.limit);
  const last = rest.length > query.limit ? page.at(-1) : undefined;
  const lastWebhooks = await deps.journal.lastWebhooks(page.map(({ facts }) => facts.locationId));
  return {
    tenants: page.map(({ facts, shown }) => {
      const path = tenantPath({ ...facts, lastWebhookAt: lastWebhooks.get(facts.locationId) ?? null });
      return { ...path, ...shown, liveness: livenessOf(path.broken) };
    }),
    next: last === undefined ? undefined : { isBroken: last.isBroken, id: last.facts.locationId },
    total: own.length,
    broken: broken.length,
    found: found.length,
  };
}

const isAfter = (place: TenantPlace | undefined, { isBroken, id }: TenantPlace): boolean =>
  place === undefined || (place.isBroken === isBroken ? id > place.id : place.isBroken);

/** Calls `visit` with the broken links of each location. */
export async function visitTenants<Location extends TenantLocation>(
  deps: Omit<TenantsDeps, 'journal' | 'locations'>,
  pages: AsyncIterable<readonly Location[]>,
  visit: (location: Location, broken: readonly Problem[]) => void,
): Promise<void> {
  const privateTokenOf = await deps.privateTokenCheck();
  for await (const page of pages)
    for (const location of page)
      visit(location, brokenLinks(factsOf(deps, location, tokenOf(location, privateTokenOf))));
}

/** Returns whether texts get through the line of a location, whatever the state of its grant. */
export function lineOf(
  deps: Pick<TenantsDeps, 'traffic' | 'now'>,
  location: TenantLocation,
): Liveness | null {
  return livenessOf(brokenLinks(factsOf({ ...deps, crmCalls: () => NO_CALLS }, location, 'none')));
}

async function tenantFacts(
  deps: Omit<TenantsDeps, 'journal'>,
  { mayAccess }: Pick<TenantsQuery, 'mayAccess'>,
): Promise<{ facts: TenantFacts; shown: Shown }[]> {
  const locations = (await deps.locations()).filter(({ locationId }) => mayAccess(locationId));
  const privateTokenOf = await deps.privateTokenCheck();
  return locations.map((location) => {
    const { name, license, claimed } = location;
    return {
      shown: { license, claimed, ...(name !== undefined && { name }) },
      facts: factsOf(deps, location, tokenOf(location, privateTokenOf)),
    };
  });
}

function tokenOf(
  { locationId, oauth }: TenantLocation,
  privateTokenOf: PrivateTokenOf,
): TenantFacts['token'] {
  return oauth === null ? privateTokenOf(locationId) : 'oauth';
}

const factsOf = (
  deps: Pick<TenantsDeps, 'crmCalls' | 'traffic' | 'now'>,
  { locationId, connected, lastDevice, oauth }: TenantLocation,
  token: TenantFacts['token'],
): TenantFacts => ({
  locationId,
  token,
  grant: oauth,
  lastWebhookAt: null,
  mac: connected,
  lastMac: lastDevice,
  crmCalls: deps.crmCalls(locationId),
  traffic: deps.traffic(locationId),
  now: deps.now(),
});
