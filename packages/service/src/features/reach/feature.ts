import { maskHandle } from '@footbridge/protocol/mask-handle';
import { askReach } from '@footbridge/protocol/operator/people';

import type { Feature } from '../../platform/host.ts';
import { isoTime, operatorError } from '../../platform/operator/operator-request.ts';
import type { ValuesOf } from '../../platform/settings/setting.ts';
import type { Relay } from '../../relay/relay.ts';
import { createReach } from './ask-reach.ts';
import { reachFields } from './reach-fields-sql.ts';
import type { REACH } from './settings.ts';
import { ReachWriter } from './write-reach.ts';

type Rooms = Pick<Relay, 'people' | 'switchboard' | 'crm' | 'forwarded' | 'inboundDelivered'>;

/** Asks the Mac of a location whether a person is reached by iMessage or SMS, and writes it into a field of the contact. */
export const reach: Feature<Rooms, ValuesOf<typeof REACH>> = {
  name: 'reach',
  start(host, relay, settings) {
    const { phones, hashes } = relay.people;
    const asked = createReach({ ...host, switchboard: relay.switchboard, hashes });
    const written = reachFields({ ...host, hashes });
    host.keepsAboutPeople({
      section: 'reach',
      async read({ handles, locationIds }) {
        const found = await Promise.all(handles.map((handle) => written.list(handle, locationIds)));
        return found.flat().map(({ since, ...field }) => ({ ...field, since: isoTime(since) }));
      },
      async erase({ handles, locationIds }) {
        for (const handle of handles) await written.erase(handle, locationIds);
      },
      forget: (locationId) => asked.forget(locationId),
    });
    const writer = settings.reachFields === undefined ? undefined : startWriter(settings.reachFields);

    host.serve(askReach, async ({ params: { locationId }, query }) => {
      const phone = phones.handle(query.phone);
      if (phone === undefined)
        throw operatorError(
          'INVALID_REQUEST',
          'phone: not a phone number or an email address. Write the number with its country code, such as +15555550100.',
        );
      const found = await asked.of(locationId, phone);
      if (found === 'not_connected')
        throw operatorError('CONFLICT', 'The Mac of this location is not connected. Try again when it is.');
      writer?.learned(locationId, phone, found.reach);
      return {
        phone: maskHandle(phone),
        reach: found.reach,
        reason: found.reason,
        at: isoTime(found.at),
      };
    });

    function startWriter(fields: ReadonlyMap<string, string>): ReachWriter {
      const started = new ReachWriter({
        ...host,
        fieldOf: (locationId) => fields.get(locationId) ?? fields.get('*'),
        ask: (...person) => asked.afresh(...person),
        fields: written,
        updateContact: relay.crm.updateContact,
      });
      host.stops('reach of contacts', () => started.close());
      relay.forwarded.listen((locationId, { phone }) => started.messaged(locationId, phone));
      relay.inboundDelivered.listen((locationId, { chat, sender }) => {
        if (!chat.isGroup) started.messaged(locationId, phones.recorded(sender));
      });
      return started;
    }
  },
};
