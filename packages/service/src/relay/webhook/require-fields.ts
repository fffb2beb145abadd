import type { LocationId } from '@footbridge/protocol/ids';

import { lookUpPhone } from './look-up-phone.ts';
import type { LookUpDeps } from './look-up-phone.ts';
import { receivedNames } from './pick-fields.ts';
import type { Fields } from './pick-fields.ts';
import { Rejection } from './rejection.ts';

/** A message with all required fields, not validated yet. */
export interface Complete {
  readonly locationId: LocationId;
  readonly contactId: string;
  readonly phone: string;
  readonly message: string | null;
  readonly attachments: unknown;
}

/** W4, W7. Looks the phone up in the CRM only when it is the only missing field. */
export async function requireFields(
  body: unknown,
  fields: Fields,
  deps: LookUpDeps,
): Promise<Complete | Rejection> {
  const { locationId, contactId, message, attachments } = fields;
  if (locationId === undefined || contactId === undefined || (message ?? attachments) === undefined)
    return missingFields(body, fields);
  const phone = fields.phone ?? (await lookUpPhone(locationId, contactId, deps));
  if (phone instanceof Rejection) return phone;
  if (phone === undefined) return missingFields(body, fields);
  return { locationId, contactId, phone, message: message ?? null, attachments: attachments ?? [] };
}

/** Lists names only: no value of the request is echoed (W15). */
function missingFields(body: unknown, fields: Fields): Rejection {
  const required = [
    fields.locationId === undefined && 'locationId',
    fields.contactId === undefined && 'contactId',
    fields.message === undefined && fields.attachments === undefined && 'message or attachments',
    fields.phone === undefined && 'phone',
  ].filter((name) => name !== false);
  return new Rejection('MISSING_REQUIRED_FIELDS', { required, received: receivedNames(body) });
}
