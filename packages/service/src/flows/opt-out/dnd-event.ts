import { isObject } from '@footbridge/protocol/schema';

import type { Suppressions } from '../../ports/suppressions/suppressions.ts';

export const DND_EVENT = 'ContactDndUpdate';

const SUPPRESSED = new Set(['active', 'permanent']);

/** Records a change of "do not disturb" for texts to a contact (E4). An event without a number or a setting changes nothing. */
export function createDndEvents(
  suppressions: Pick<Suppressions, 'set'>,
  /** Returns a phone number as a webhook names it: in E.164, and short codes unchanged. */
  asRecorded: (phone: string) => string,
) {
  return async (
    locationId: string,
    fields: Record<string, unknown>,
    at: number | undefined,
  ): Promise<void> => {
    const { phone } = fields;
    const isSuppressed = textsSuppressed(fields);
    if (typeof phone !== 'string' || !/\d/.test(phone) || isSuppressed === undefined) return;
    await suppressions.set({ locationId, handle: asRecorded(phone), isSuppressed, source: 'crm', at });
  };
}

/** The setting of the channel decides; without one, that of all channels. */
function textsSuppressed({ dnd, dndSettings }: Record<string, unknown>): boolean | undefined {
  const sms = isObject(dndSettings) ? dndSettings['SMS'] : undefined;
  const status = isObject(sms) ? sms['status'] : undefined;
  if (typeof status === 'string') return SUPPRESSED.has(status.toLowerCase()) || dnd === true;
  return typeof dnd === 'boolean' ? dnd : undefined;
}
