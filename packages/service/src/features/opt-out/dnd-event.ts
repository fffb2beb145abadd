import { isObject } from '@footbridge/protocol/schema';
import type { Log } from '@footbridge/runtime/log';

import type { Phones } from '../../relay/people/handles.ts';
import type { HandleAppEvent } from '../../relay/webhook/app-events.ts';
import type { StoredSuppressions as Suppressions } from './suppressions-sql.ts';

export const DND_EVENT = 'ContactDndUpdate';

const SUPPRESSED = new Set(['active', 'permanent']);

/**
 * Records a change of "do not disturb" for texts to a contact (E4). An event without a number or a setting changes nothing. An event
 * without a time may be late or a copy, so it can opt a contact out, but not end an opt-out (T66).
 */
export function createDndEvents(
  suppressions: Pick<Suppressions, 'set'>,
  phones: Pick<Phones, 'recorded'>,
  log: Pick<Log, 'info'>,
): HandleAppEvent {
  return async ({ locationId, fields, ...times }) => {
    if (locationId === null) return;
    const { phone } = fields;
    const isSuppressed = textsSuppressed(fields);
    if (typeof phone !== 'string' || !/\d/.test(phone) || isSuppressed === undefined) return;
    const at = isSuppressed ? times.at : (times.at ?? times.updatedAt);
    if (!isSuppressed && at === undefined)
      return log.info(
        { event: 'opt_out.kept', locationId },
        'opt-out kept, the event has no time; a START from the customer or the operator ends it',
      );
    await suppressions.set({ locationId, handle: phones.recorded(phone), isSuppressed, source: 'crm', at });
  };
}

/** Returns whether the SMS setting or the general one suppresses texts; undefined when neither is given. */
function textsSuppressed({ dnd, dndSettings }: Readonly<Record<string, unknown>>): boolean | undefined {
  const sms = isObject(dndSettings) ? dndSettings['SMS'] : undefined;
  const status = isObject(sms) ? sms['status'] : undefined;
  if (typeof status === 'string') return SUPPRESSED.has(status.toLowerCase()) || dnd === true;
  return typeof dnd === 'boolean' ? dnd : undefined;
}
