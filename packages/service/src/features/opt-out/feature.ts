import type { Feature } from '../../platform/host.ts';
import { isoTime } from '../../platform/operator/operator-request.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { Relay } from '../../relay/relay.ts';
import { DND_EVENT, createDndEvents } from './dnd-event.ts';
import { createOptOutImport } from './import-opt-outs.ts';
import { serveOptOuts } from './opt-out-calls.ts';
import type { OPT_OUT } from './settings.ts';
import { SuppressionFilter } from './suppression-filter.ts';
import type { Suppressions } from './suppression-filter.ts';
import { storedSuppressions } from './suppressions-sql.ts';
import { watchWords } from './watch-words.ts';

/** A person has at most one opt-out per location and key. */
const MAX_OF_PERSON = 100_000;

type Rooms = Pick<Relay, 'people' | 'crm' | 'optOuts' | 'gate' | 'appEvents'>;

/** The people who opted out of texts: in the CRM, by a word such as STOP, or through the operator. */
export const optOut: Feature<Rooms, ValuesOf<typeof OPT_OUT>> = {
  name: 'opt-out',
  start(host, relay, { optOutEnforced: enforced, optOutWords: words }) {
    const { phones, hashes } = relay.people;
    const suppressions = openSuppressions();
    if (enforced)
      relay.optOuts.fillWith(async (locationId, phone) => await suppressions.has(locationId, phone));
    if (words)
      relay.gate.fillWith((deliver) =>
        watchWords(deliver, { ...host, suppressions, phones, updateContact: relay.crm.updateContact }),
      );
    relay.appEvents.set(DND_EVENT, createDndEvents(suppressions, phones, host.log));

    host.keepsAboutPeople({
      section: 'optOuts',
      // There is no `erase`: without the opt-out the person would be texted again.
      async read({ handles, locationIds }) {
        const found = await Promise.all(
          handles.map((handle) => suppressions.list({ handle, locationIds, limit: MAX_OF_PERSON })),
        );
        return found.flat().map(({ since, ...entry }) => ({ ...entry, since: isoTime(since) }));
      },
    });
    const { keyIds } = hashes;
    const imports = createOptOutImport({ suppressions, phones, keyIds, now: () => host.clock.now() });
    serveOptOuts(host, { suppressions, imports, phones, keyId: keyIds[0] ?? '' });

    /** Only a single node can use the in-memory filter: it misses changes by other nodes. */
    function openSuppressions(): Suppressions {
      const stored = storedSuppressions({ ...host, hashes });
      if (!enforced || !host.isSingleNode) return stored;
      const filter = new SuppressionFilter({ ...host, stored, hashes });
      host.stops('opt-out filter', () => filter.close());
      void filter.load();
      return filter;
    }
  },
};
