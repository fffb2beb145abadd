import { MAX_PAGE } from '@footbridge/protocol/operator/parts';
import { listTenants } from '@footbridge/protocol/operator/watching';

import type { Feature } from '../../platform/host.ts';
import { mayAccess } from '../../platform/operator/operator-auth.ts';
import { isoTime } from '../../platform/operator/operator-request.ts';
import { namedPlace, readNamedPlace } from '../../platform/operator/pages.ts';
import { livenessView } from '../../relay/accounts/liveness.ts';
import type { Relay } from '../../relay/relay.ts';
import { tenantCheck } from './check-tenants.ts';
import type { Problem } from './tenant-path.ts';
import { lineOf, readTenants } from './tenants.ts';
import type { Tenant } from './tenants.ts';
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

    const known = {
      crmCalls: (locationId: string) => crm.callsOf(locationId),
      privateTokenCheck: () => crm.grants.value.privateTokens(),
      traffic,
      now,
      locations: () => accounts.overview.recentLocations(),
      journal,
    };
    host.serve(listTenants, async ({ query: { search, limit = MAX_PAGE, after }, request }) => {
      const from = readNamedPlace(after, ['broken', 'other']);
      const { next, ...page } = await readTenants(known, {
        search,
        limit,
        after: from === undefined ? undefined : { isBroken: from.list === 'broken', id: from.id },
        mayAccess: (locationId) => mayAccess(request, locationId),
      });
      return {
        ...page,
        tenants: page.tenants.map(view),
        ...(next !== undefined && {
          next: namedPlace({ list: next.isBroken ? 'broken' : 'other', id: next.id }),
        }),
      };
    });
  },
};

const view = ({ broken: _broken, links, problem, liveness, ...shown }: Tenant) => ({
  ...shown,
  liveness: livenessView(liveness),
  links: links.map(withTime),
  problem: problem === null ? null : problemView(problem),
});

const problemView = ({ link, sentence, action, since }: Problem) =>
  withTime({ link, sentence, action, since });

const withTime = <T extends { readonly since: number | null }>(part: T) => ({
  ...part,
  since: part.since === null ? null : isoTime(part.since),
});
