import { listRetention, setRetention } from '@footbridge/protocol/operator/people';

import type { Feature } from '../../platform/host.ts';
import { visibleLocations } from '../../platform/operator/operator-auth.ts';
import { namedPlace, readNamedPlace, readPage } from '../../platform/operator/pages.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { ASSETS } from '../../relay/assets/settings.ts';
import type { JOURNAL } from '../../relay/journal/settings.ts';
import type { Relay } from '../../relay/relay.ts';
import { retentions } from './retention-sql.ts';

/** How long data of a location without its own values is kept. */
type Defaults = Pick<ValuesOf<typeof JOURNAL & typeof ASSETS>, 'journalDays' | 'assetDays'>;

const DAY_MS = 86_400_000;

/** How long the data of a location is kept. */
export const retention: Feature<Pick<Relay, 'retention' | 'assets'>, Defaults> = {
  name: 'retention',
  start(host, { retention: slot, assets }, settings) {
    const defaults: Defaults = { journalDays: settings.journalDays, assetDays: settings.assetDays };
    const stored = retentions(host.db);
    slot.fillWith(stored);

    host.serve(listRetention, async ({ query: { limit, after }, request }) => {
      const from = readNamedPlace(after, ['location'])?.id ?? '';
      const locationIds = visibleLocations(request, undefined);
      const { entries, next } = await readPage(
        limit,
        (count) => stored.list({ limit: count, after: from, locationIds }),
        ({ locationId: id }) => namedPlace({ list: 'location', id }),
      );
      return { defaults, locations: entries, ...next };
    });

    host.serve(setRetention, async (called) => {
      const { locationId } = called.params;
      const { journalDays, assetDays } = called.body;
      await stored.set({ locationId, journalDays, assetDays });
      // The journal is pruned by age; a file has its expiry in its record.
      await assets.index.keepFor(locationId, (assetDays ?? defaults.assetDays) * DAY_MS);
      await host.audit(called, 'retention.changed', locationId, { journalDays, assetDays });
      return { locationId, journalDays, assetDays };
    });
  },
};
