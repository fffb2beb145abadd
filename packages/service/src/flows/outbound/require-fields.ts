import type { LocationId } from '@footbridge/protocol/ids';

import { lookUpPhone } from './look-up-phone.ts';
import type { LookUpParts } from './look-up-phone.ts';
import { receivedNames } from './pick-fields.ts';
import type { Fields } from './pick-fields.ts';
import { Refusal } from './refusal.ts';

/** A message with everything that is needed, none of it looked at closely yet. */
export interface Complete {
  readonly locationId: LocationId;
  readonly contactId: string;
  readonly phone: string;
  readonly message: string | null;
  readonly attachments: readonly unknown[];
}

/** W4, W7. The CRM is asked for a phone only when nothing but the phone is missing. */
export async function requireFields(
  body: unknown,
  fields: Fields,
  parts: LookUpParts,
): Promise<Complete | Refusal> {
  const { locationId, contactId, message, attachments } = fields;
  if (locationId === undefined || contactId === undefined || (message ?? attachments) === undefined)
    return missingFields(body, fields);
  const phone = fields.phone ?? (await lookUpPhone(locationId, contactId, parts));
  if (phone === undefined) return missingFields(body, fields);
  return { locationId, contactId, phone, message: message ?? null, attachments: attachments ?? [] };
}

/** Names only: no value of the request is repeated (W15). */
function missingFields(body: unknown, fields: Fields): Refusal {
  const required = [
    fields.locationId === undefined && 'locationId',
    fields.contactId === undefined && 'contactId',
    fields.message === undefined && fields.attachments === undefined && 'message or attachments',
    fields.phone === undefined && 'phone',
  ].filter((name) => name !== false);
  return new Refusal('MISSING_REQUIRED_FIELDS', { required, received: receivedNames(body) });
}
