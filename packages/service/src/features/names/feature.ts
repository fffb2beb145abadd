import { nameLocation, unnameLocation } from '@footbridge/protocol/operator/accounts';

import type { Finding } from '../../platform/findings.ts';
import type { Feature } from '../../platform/host.ts';
import { operatorError } from '../../platform/operator/operator-request.ts';
import type { Relay } from '../../relay/relay.ts';
import { folded, locationNames } from './names-sql.ts';

/** What operators call their locations. */
export const names: Feature<Pick<Relay, 'accounts'>, {}> = {
  name: 'names',
  start(host, { accounts: { overview } }) {
    const stored = locationNames(host.db);
    overview.names.fillWith((locationIds) => stored.of(locationIds));

    host.serve(nameLocation, async (called) => {
      const { locationId } = called.params;
      const name = called.body.name.trim();
      if ((await overview.location(locationId)) === undefined)
        throw operatorError(
          'NOT_FOUND',
          'This location is unknown. List the locations with `footbridge location list`.',
        );
      await stored.set(locationId, name);
      await host.audit(called, 'location.named', locationId, { name });
      return { locationId, name };
    });

    host.serve(unnameLocation, async (called) => {
      const { locationId } = called.params;
      if (!(await stored.remove(locationId)))
        throw operatorError('NOT_FOUND', 'This location does not have a name.');
      await host.audit(called, 'location.unnamed', locationId);
    });

    host.finds({
      async find() {
        const only = await stored.shared();
        if (only.length === 0) return [];
        // A deleted location keeps its name, but cannot be mistaken for another.
        const existing = await overview.locationsPage({ limit: only.length, after: undefined, only });
        return ambiguous(existing.map(({ location }) => location));
      },
    });
  },
};

/** Finds the locations that operators cannot tell apart by their names. */
function ambiguous(locations: readonly { readonly locationId: string; readonly name?: string }[]): Finding[] {
  const alike = Map.groupBy(locations, ({ name = '' }) => folded(name));
  alike.delete('');
  return [...alike]
    .filter(([, found]) => found.length > 1)
    .map(([subject, found]) => ({
      kind: 'name_ambiguous',
      subject,
      locationIds: found.map(({ locationId }) => locationId),
      sentence: `${found.length} locations have the name “${found[0]?.name ?? ''}”.`,
      action: 'Give each a name of its own with `footbridge location rename`.',
      since: null,
    }));
}
