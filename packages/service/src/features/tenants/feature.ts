import type { Feature } from '../../platform/host.ts';
import type { Relay } from '../../relay/relay.ts';
import { tenantCheck } from './check-tenants.ts';
import { lineOf, listTenants } from './tenants.ts';
import { tenantsRoutes } from './tenants-routes.ts';
import { LineWatch } from './watch-lines.ts';

/** Whether each tenant can text, link by link, and what to do about the first broken one. */
export const tenants: Feature<Pick<Relay, 'journal' | 'crm' | 'accounts'>, {}> = {
  name: 'tenants',
  start(host, relay) {
    const { journal, crm, accounts } = relay;
    const now = () => host.clock.now();
    const lines = new LineWatch({ journal, now });
    const traffic = (locationId: string) => lines.of(locationId);
    accounts.liveness.fillWith((location) => lineOf({ traffic, now }, location));
    host.finds(tenantCheck({ ...host, relay, lines }));
    host.operatorRoutes(
      tenantsRoutes({
        tenants: (query) =>
          listTenants(
            {
              crmCalls: (locationId) => crm.callsOf(locationId),
              privateTokenCheck: () => crm.grants.value.privateTokens(),
              traffic,
              now,
              locations: () => accounts.overview.recentLocations(),
              journal,
            },
            query,
          ),
      }),
    );
  },
};
