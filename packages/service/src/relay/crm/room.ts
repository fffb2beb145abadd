import type { Host } from '../../platform/host.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import { Slot } from '../../platform/extension-points.ts';
import { createContactCalls, createLookUpPhone, createUpdateContact } from './contact-calls.ts';
import type { ContactCalls, UpdateContact } from './contact-calls.ts';
import { createCrmClient, RecentCrmCalls } from './crm-client.ts';
import type { CrmClient, RecentCalls } from './crm-client.ts';
import { probeAddress } from './probe-address.ts';
import type { Probe } from './probe-address.ts';
import type { CRM } from './settings.ts';
import { NO_GRANTS } from './tokens.ts';
import type { CrmGrants, CrmTokens } from './tokens.ts';
import { createTransport } from './transport-http.ts';
import type { Transport } from './transport-http.ts';

export interface CrmRoom {
  readonly tokens: Slot<CrmTokens>;
  readonly grants: Slot<CrmGrants>;
  readonly transport: Transport;
  readonly client: CrmClient;
  readonly contacts: ContactCalls;
  readonly lookUpPhone: ReturnType<typeof createLookUpPhone>;
  readonly updateContact: UpdateContact;
  /** The newest calls for a location. */
  callsOf(locationId: string): RecentCalls;
  /** Calls an address once, in the way the CRM is called. */
  probe(address: string): Promise<Probe>;
}

/** The calls to the CRM. */
export function openCrm(host: Host, settings: ValuesOf<typeof CRM>): CrmRoom {
  const { clock, metrics } = host;
  const transport = createTransport({
    clock,
    proxies: { http: settings.httpProxy, https: settings.httpsProxy, bypass: settings.noProxy ?? '' },
  });
  host.stops('calls to the CRM', () => transport.close());
  const tokens = new Slot<CrmTokens>('crm.tokens');
  host.stops('tokens', () => tokens.close());
  const recentCalls = new RecentCrmCalls(() => clock.now());
  const client = createCrmClient({
    transport,
    host: settings.crmHost,
    apiVersion: settings.apiVersion,
    tokens,
    clock,
    callsPer10Sec: settings.crmCallsPer10Sec,
    metrics,
    recentCalls,
  });
  metrics.readAtScrape('footbridge_crm_circuit_open', () => client.openCircuits);
  const contacts = createContactCalls(client);
  return {
    tokens,
    grants: new Slot<CrmGrants>('crm.grants', NO_GRANTS),
    transport,
    client,
    contacts,
    lookUpPhone: createLookUpPhone({ calls: contacts, clock }),
    updateContact: createUpdateContact(client, contacts),
    callsOf: (locationId) => recentCalls.of(locationId),
    probe: (address) => probeAddress({ transport, clock }, address),
  };
}
