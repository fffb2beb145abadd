import { erasePerson, exportPerson } from '@footbridge/protocol/operator/people';

import type { Feature, Host, Keeper, Person, Section } from '../../platform/host.ts';
import type { AuditDetail } from '../../platform/operator/audit-sql.ts';
import { changedLocations, visibleLocations } from '../../platform/operator/operator-auth.ts';
import { operatorError } from '../../platform/operator/operator-request.ts';
import type { Called } from '../../platform/operator/serve-call.ts';
import type { MessageTrail } from '../../relay/journal/journal.ts';
import { messageHistory } from '../../relay/journal/messages-routes.ts';
import type { Relay } from '../../relay/relay.ts';

/**
 * What the service keeps about one person: found by the phone number or email address, exported and erased. The number is in the body of
 * the calls, because proxies log URLs; it never appears in the audit log.
 */
export const privacy: Feature<Pick<Relay, 'people' | 'journal' | 'texts'>, {}> = {
  name: 'privacy',
  start(host, { people: { phones }, journal, texts }) {
    host.stops(
      'erased people',
      host.changes.listen('person_erased', (subject) => {
        for (const keeper of host.keepers()) keeper.forget?.(subject === '*' ? undefined : subject);
      }),
    );

    const message = (trail: MessageTrail) => ({
      ...messageHistory(trail),
      text: texts.value.textOf(trail.locationId, trail.id) ?? null,
    });

    host.serve(exportPerson, async (called) => {
      const { cursor, limit = 200, phone, locationId } = called.body;
      const person = { handles: handlesOf(phone), locationIds: visibleLocations(called.request, locationId) };
      // Recorded first: nothing is shown without an entry in the audit log.
      await record(called, 'privacy.exported', person);
      const page = await journal.ofPerson({ ...person, limit, cursor });
      const messages = page.messages.map(message);
      if (cursor !== undefined) return { messages, cursor: page.cursor };
      return { ...(await sectionsOf(host.keepers(), person)), messages, cursor: page.cursor };
    });

    host.serve(erasePerson, async (called) => {
      const { phone, locationId } = called.body;
      const locationIds = changedLocations(called.request, locationId);
      const person = { handles: handlesOf(phone), locationIds };
      await record(called, 'privacy.erase_requested', person);
      const erased = await erase(person);
      await record(called, 'privacy.erased', person, erased);
      return erased;
    });

    /** Can be repeated after a failure: the journal, which names the person, is erased last. */
    async function erase(person: Person) {
      const keepers = host.keepers();
      const { files = [] } = await sectionsOf(keepers, person);
      for (const keeper of keepers) await keeper.erase?.(person);
      const messages = await journal.erase(person);
      // The notice is stored, so it must not name the person.
      for (const subject of person.locationIds ?? ['*'])
        await host.changes.announce('person_erased', subject);
      const { optOuts = [] } = await sectionsOf(keepers, person);
      return { messages, files: files.length, optOutsKept: optOuts.length };
    }

    function handlesOf(phone: string): readonly string[] {
      if (phones.handle(phone) !== undefined) return phones.forms(phone.trim());
      throw operatorError(
        'INVALID_REQUEST',
        'phone: not a phone number or an email address. Write the number with its country code, such as +15555550100.',
      );
    }

    function record(
      called: Pick<Called<typeof erasePerson>, 'request'>,
      action: string,
      { locationIds }: Person,
      more?: AuditDetail,
    ) {
      // `*` alone reads as all locations.
      const isSome = locationIds !== undefined && locationIds.length !== 1;
      const detail = { ...(isSome && { locations: locationIds.length }), ...more };
      return host.audit(
        called,
        action,
        locationIds?.length === 1 ? String(locationIds[0]) : '*',
        Object.keys(detail).length > 0 ? detail : undefined,
      );
    }
  },
};

type Sections = Partial<{ [S in Section]: Awaited<ReturnType<NonNullable<Keeper<S>['read']>>> }>;

async function sectionsOf(keepers: ReturnType<Host['keepers']>, person: Person): Promise<Sections> {
  const read = keepers.map(async (keeper) =>
    keeper.section === undefined ? [] : [[keeper.section, await keeper.read?.(person)] as const],
  );
  return Object.fromEntries((await Promise.all(read)).flat());
}
